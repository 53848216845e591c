/* SPDX-License-Identifier: MIT */
/*
 * sandbox.c -- filters of system calls: which calls of ours the program's would let pass.
 *
 * Keeps:  no lock.  A filter is written completely before it is counted in, and never changes.
 */
#include "agent/sandbox.h"

#include <linux/filter.h>

#include "agent/agent.h"
#include "agent/arena.h"
#include "agent/bytes.h"
#include "agent/environment.h"
#include "agent/fatal.h"
#include "agent/fault.h"
#include "agent/sys.h"
#include "wire/filters.h"

#include "agent/guest.h"

#define FILTERS_MAX 64u
#define SCRATCH 16u /* words of memory that a filter has */
#define OPEN_TO_WRITE (O_WRONLY | O_TRUNC)
#define OPEN_NEW (O_CREAT | O_NOFOLLOW)

/* The kernel's struct sock_fprog. */
struct program {
        uint16_t count;
        const struct wire_instruction *code;
};

enum state {
        STATE_OPEN,   /* no filter */
        STATE_LOADER, /* it is not known yet */
        STATE_JUDGED, /* by filters that we know */
        STATE_CLOSED  /* by one that we do not know */
};

struct filter {
        uint32_t at, count;
        uint32_t on;
};

static struct {
        uint32_t state;
        uint32_t mode, depth, parent; /* as the kernel told at the start: Seccomp, Seccomp_filters,
                                       * PPid */
        uint32_t known;               /* filters that are accounted for, as the kernel counts */
        uint32_t count, used;
        uint32_t unknown; /* filters that hold and cannot be judged by */
        bool refused_memory;
        const volatile uint32_t *seen; /* filters that the observer saw; NULL nobody looks */
        struct filter filters[FILTERS_MAX];
} sandbox;

/* seep writes here, too. */
struct wire_instruction sandbox_code[WIRE_FILTERS_ROOM];

/* ---- judging ---- */

struct machine {
        uint32_t a, x, memory[SCRATCH];
        const uint32_t *data;
};

/* False: an instruction that the kernel would not have let through. */
static bool calculate(uint32_t *a, uint16_t operation, uint32_t by)
{
        switch (operation) {
        case BPF_ADD: *a += by; return true;
        case BPF_SUB: *a -= by; return true;
        case BPF_MUL: *a *= by; return true;
        case BPF_DIV: *a = by ? *a / by : 0; return by != 0;
        case BPF_AND: *a &= by; return true;
        case BPF_OR: *a |= by; return true;
        case BPF_XOR: *a ^= by; return true;
        case BPF_LSH: *a <<= by % 32; return true;
        case BPF_RSH: *a >>= by % 32; return true;
        case BPF_NEG: *a = -*a; return true;
        default: return false;
        }
}

static bool compare(uint32_t a, uint16_t how, uint32_t with)
{
        switch (how) {
        case BPF_JEQ: return a == with;
        case BPF_JGT: return a > with;
        case BPF_JGE: return a >= with;
        default: return a & with; /* BPF_JSET */
        }
}

/* LD and LDX. */
static bool load(struct machine *m, const struct wire_instruction *i)
{
        uint32_t *to = BPF_CLASS(i->code) == BPF_LD ? &m->a : &m->x;

        switch (BPF_MODE(i->code)) {
        case BPF_ABS:
                if (i->k % 4 || i->k >= WIRE_FILTER_WORDS * 4)
                        return false;
                *to = m->data[i->k / 4];
                return true;
        case BPF_IMM: *to = i->k; return true;
        case BPF_LEN: *to = WIRE_FILTER_WORDS * 4; return true;
        case BPF_MEM: *to = m->memory[i->k % SCRATCH]; return true;
        default: return false;
        }
}

/* One instruction that neither jumps nor returns. */
static bool step(struct machine *m, const struct wire_instruction *i)
{
        switch (BPF_CLASS(i->code)) {
        case BPF_LD:
        case BPF_LDX: return load(m, i);
        case BPF_ST: m->memory[i->k % SCRATCH] = m->a; return true;
        case BPF_STX: m->memory[i->k % SCRATCH] = m->x; return true;
        case BPF_ALU:
                return calculate(&m->a, BPF_OP(i->code), BPF_SRC(i->code) == BPF_X ? m->x : i->k);
        case BPF_MISC:
                if (i->code & BPF_TXA)
                        m->a = m->x;
                else
                        m->x = m->a;
                return true;
        default: return false;
        }
}

/* What FILTER answers.  It only ever jumps forwards. */
static uint32_t answer(const struct filter *f, const uint32_t *data)
{
        struct machine m = { .data = data };

        for (uint64_t at = f->at, end = at + f->count; at < end; at++) {
                const struct wire_instruction *i = &sandbox_code[at];

                if (BPF_CLASS(i->code) == BPF_RET)
                        return i->code & BPF_A ? m.a : i->k;
                if (BPF_CLASS(i->code) == BPF_JMP && BPF_OP(i->code) == BPF_JA)
                        at += i->k;
                else if (BPF_CLASS(i->code) == BPF_JMP)
                        at += compare(m.a, BPF_OP(i->code), BPF_SRC(i->code) == BPF_X ? m.x : i->k)
                                      ? i->yes
                                      : i->no;
                else if (!step(&m, i))
                        break;
        }
        return WIRE_FILTER_KILL;
}

static bool filter_allows(const struct filter *f, long number, const uint64_t *arguments)
{
        uint32_t data[WIRE_FILTER_WORDS] = { (uint32_t)number, ARCH_AUDIT };
        uint64_t at = (uintptr_t)sandbox_allows;

        memcpy(data + 2, &at, sizeof at);
        memcpy(data + 4, arguments, SANDBOX_ARGUMENTS * sizeof *arguments);
        return (answer(f, data) & WIRE_FILTER_ACTION) == WIRE_FILTER_ALLOW;
}

static bool all_allow(long number, const uint64_t *arguments)
{
        uint32_t count = __atomic_load_n(&sandbox.count, __ATOMIC_ACQUIRE);

        for (uint32_t i = 0; i < count && i < FILTERS_MAX; i++)
                if (__atomic_load_n(&sandbox.filters[i].on, __ATOMIC_ACQUIRE) &&
                    !filter_allows(&sandbox.filters[i], number, arguments))
                        return false;
        return true;
}

/* What it takes to learn what holds, and what the loader has just done to get us here. */
static bool is_loaders(long number, const uint64_t *arguments)
{
        return number == SYS_read || number == SYS_close ||
               (number == SYS_openat && arguments[2] == SYS_O_CLOEXEC);
}

/* The program has got a filter past us: with system calls of its own. */
static bool is_surprised(void)
{
        const volatile uint32_t *seen = __atomic_load_n(&sandbox.seen, __ATOMIC_ACQUIRE);

        return seen && *seen > sandbox.known;
}

/* The state that follows from what holds. */
static uint32_t settle(void)
{
        uint32_t on = 0, state;

        for (uint32_t i = 0; i < sandbox.count && i < FILTERS_MAX; i++)
                on += __atomic_load_n(&sandbox.filters[i].on, __ATOMIC_ACQUIRE);
        state = sandbox.unknown ? STATE_CLOSED : on ? STATE_JUDGED : STATE_OPEN;
        agent.sandboxed = state != STATE_OPEN;
        __atomic_store_n(&sandbox.state, state, __ATOMIC_RELEASE);
        return state;
}

bool sandbox_allows(long number, const uint64_t arguments[SANDBOX_ARGUMENTS])
{
        uint32_t state = __atomic_load_n(&sandbox.state, __ATOMIC_ACQUIRE);
        bool allowed;

        if (unlikely(is_surprised()) && (state == STATE_OPEN || state == STATE_JUDGED)) {
                sandbox.unknown++;
                state = settle();
        }
        if (likely(state == STATE_OPEN))
                return true;
        allowed = state == STATE_JUDGED ? all_allow(number, arguments)
                                        : state == STATE_LOADER && is_loaders(number, arguments);
        if (!allowed && (number == ARCH_SYS_MMAP || number == SYS_mprotect))
                sandbox.refused_memory = true;
        return allowed;
}

bool sandbox_refused_memory(void)
{
        return sandbox.refused_memory;
}

void sandbox_watch(const volatile uint32_t *word)
{
        __atomic_store_n(&sandbox.seen, word, __ATOMIC_RELEASE);
}

/* ---- the start ---- */

/* Numbers of a file "status" in /proc, line by line. */
struct status {
        char line[64];
        uint32_t used;
        uint32_t mode, depth, parent;
};

static uint32_t decimal(const char *text)
{
        uint32_t value = 0;

        for (; *text >= '0' && *text <= '9'; text++)
                value = value * 10 + (uint32_t)(*text - '0');
        return value;
}

static void status_line(struct status *s)
{
        const char *value;

        s->line[s->used] = 0;
        if ((value = bytes_after(s->line, "Seccomp:\t")))
                s->mode = decimal(value);
        else if ((value = bytes_after(s->line, "Seccomp_filters:\t")))
                s->depth = decimal(value);
        else if ((value = bytes_after(s->line, "PPid:\t")))
                s->parent = decimal(value);
        s->used = 0;
}

static bool status_read(const char *path, struct status *s)
{
        long fd = sys_open(path), got;
        char part[512];

        *s = (struct status){ .depth = WIRE_FILTERS_UNKNOWN };
        if (fd < 0)
                return false;
        while ((got = sys_read(fd, part, sizeof part)) > 0)
                for (long i = 0; i < got; i++) {
                        if (part[i] == '\n')
                                status_line(s);
                        else if (s->used < sizeof s->line - 1)
                                s->line[s->used++] = part[i];
                }
        sys_close(fd);
        return true;
}

void sandbox_begin(void)
{
        struct status own;

        sandbox.state = STATE_LOADER;
        if (!status_read("/proc/self/status", &own))
                return; /* without /proc there is no session either */
        sandbox.mode = own.mode;
        sandbox.depth = own.depth;
        sandbox.parent = own.parent;
        if (!own.mode)
                sandbox.state = STATE_OPEN;
}

/* "/proc/NUMBER/status" */
static void status_path(char *out, uint32_t number)
{
        char digits[12];
        uint32_t count = 0;

        do
                digits[count++] = (char)('0' + number % 10);
        while (number /= 10);
        memcpy(out, "/proc/", 6);
        out += 6;
        while (count)
                *out++ = digits[--count];
        memcpy(out, "/status", 8);
}

/* A container's filter holds for all that is in it: so for our parent, or there is none that we can
 * see. */
bool sandbox_is_common(void)
{
        struct status parent;
        char path[40];

        if (sandbox.state == STATE_OPEN)
                return true;
        if (sandbox.mode != 2)
                return false;
        status_path(path, sandbox.parent);
        if (sandbox.parent &&
            (!status_read(path, &parent) || parent.mode != 2 || parent.depth != sandbox.depth))
                return false;
        sandbox.state = STATE_OPEN;
        return true;
}

/* ---- what is known of filters, in a file ---- */

#define PATH_MAX_ 160u

/* The name of file NUMBER beside SOCKET. */
static bool filters_path(char *out, const char *socket, uint32_t number)
{
        size_t length = strlen(socket);

        while (length && socket[length - 1] != '/')
                length--;
        if (!length || length + sizeof WIRE_FILTERS_NAME + 8 > PATH_MAX_)
                return false;
        memcpy(out, socket, length);
        memcpy(out + length, WIRE_FILTERS_NAME, sizeof WIRE_FILTERS_NAME - 1);
        out += length + sizeof WIRE_FILTERS_NAME - 1;
        for (int shift = 28; shift >= 0; shift -= 4)
                *out++ = "0123456789abcdef"[number >> shift & 15];
        *out = 0;
        return true;
}

static bool read_whole(long fd, void *to, size_t bytes)
{
        for (long got; bytes; bytes -= (size_t)got, to = (char *)to + got) {
                got = sys_read(fd, to, bytes);
                if (got <= 0)
                        return false;
        }
        return true;
}

/* Room for a filter of COUNT instructions; -1: none. */
static int filter_new(uint32_t count)
{
        uint32_t index = __atomic_load_n(&sandbox.count, __ATOMIC_ACQUIRE),
                 at = __atomic_fetch_add(&sandbox.used, count, __ATOMIC_ACQ_REL);

        if (!count || count > WIRE_FILTERS_ROOM || at > WIRE_FILTERS_ROOM - count) {
                __atomic_sub_fetch(&sandbox.used, count, __ATOMIC_ACQ_REL);
                return -1;
        }
        do
                if (index >= FILTERS_MAX)
                        return -1;
        while (!__atomic_compare_exchange_n(&sandbox.count, &index, index + 1, false,
                                            __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
        sandbox.filters[index] = (struct filter){ .at = at, .count = count };
        return (int)index;
}

static uint32_t turned(uint32_t word)
{
        return word >> 24 | (word >> 8 & 0xff00u) | (word << 8 & 0xff0000u) | word << 24;
}

/* A word of 32 bits of a file whose byte order is the OTHER one. */
static bool read_word(long fd, bool other, uint32_t *out)
{
        if (!read_whole(fd, out, sizeof *out))
                return false;
        if (other)
                *out = turned(*out);
        return true;
}

static bool read_code(long fd, bool other, struct wire_instruction *to, uint32_t count)
{
        if (!read_whole(fd, to, count * sizeof *to))
                return false;
        for (uint32_t i = 0; other && i < count; i++) {
                to[i].code = (uint16_t)(turned(to[i].code) >> 16);
                to[i].k = turned(to[i].k);
        }
        return true;
}

/* Written by seep or by an earlier program, each in the byte order of its processor. */
static bool filters_read(long fd)
{
        const uint64_t there = (uint64_t)turned((uint32_t)WIRE_FILTERS_MAGIC) << 32 |
                               turned((uint32_t)(WIRE_FILTERS_MAGIC >> 32));
        uint64_t magic;
        uint32_t depth, filters, count;
        bool other;

        if (!read_whole(fd, &magic, sizeof magic))
                return false;
        other = magic == there;
        if ((!other && magic != WIRE_FILTERS_MAGIC) || !read_word(fd, other, &depth) ||
            !read_word(fd, other, &filters) || depth != sandbox.depth)
                return false;
        for (uint32_t i = 0; i < filters; i++) {
                int filter = read_word(fd, other, &count) ? filter_new(count) : -1;

                if (filter < 0 || !read_code(fd, other, &sandbox_code[sandbox.filters[filter].at],
                                             count))
                        return false;
                sandbox.filters[filter].on = 1;
        }
        return true;
}

bool sandbox_learn(const char *socket, bool known, uint32_t number)
{
        char path[PATH_MAX_];
        bool good = false;
        long fd;

        sandbox.known = sandbox.mode ? sandbox.depth : 0;
        if (!sandbox.mode)
                return true;
        sandbox.state = STATE_LOADER;
        fd = known && sandbox.mode == 2 && filters_path(path, socket, number) ? sys_open(path) : -1;
        if (fd >= 0) {
                good = filters_read(fd);
                sys_close(fd);
        }
        sandbox.unknown += !good;
        settle();
        return good;
}

bool sandbox_told(uint32_t depth, const uint32_t *sizes, uint32_t count)
{
        bool good = true;

        for (uint32_t i = 0; good && i < count; i++) {
                int filter = filter_new(sizes[i]);

                good = filter >= 0;
                if (good)
                        sandbox.filters[filter].on = 1;
        }
        sandbox.known = depth;
        sandbox.state = STATE_OPEN;
        return good;
}

void sandbox_lift(void)
{
        __atomic_store_n(&sandbox.state, STATE_OPEN, __ATOMIC_RELEASE);
}

static bool write_whole(long fd, const void *from, size_t bytes)
{
        return sys_call3(SYS_write, fd, (long)from, (long)bytes) == (long)bytes;
}

/* For programs that this process becomes: what holds, with LATEST, which is not on yet. */
static void filters_write(int latest)
{
        struct wire_filters head = { WIRE_FILTERS_MAGIC, sandbox.known + (latest >= 0), 0 };
        uint32_t count = __atomic_load_n(&sandbox.count, __ATOMIC_ACQUIRE), number = sys_pid();
        char path[PATH_MAX_];
        bool good;
        long fd;

        if (!agent.socket || !filters_path(path, agent.socket, number))
                return;
        fd = sys_call6(SYS_openat, SYS_AT_HERE, (long)path,
                       OPEN_TO_WRITE | OPEN_NEW | SYS_O_CLOEXEC, 0644, 0, 0);
        if (fd < 0)
                return;
        for (uint32_t i = 0; i < count; i++)
                head.count += sandbox.filters[i].on || (int)i == latest;
        good = write_whole(fd, &head, sizeof head);
        for (uint32_t i = 0; good && i < count; i++) {
                const struct filter *f = &sandbox.filters[i];

                if (f->on || (int)i == latest)
                        good = write_whole(fd, &f->count, sizeof f->count) &&
                               write_whole(fd, &sandbox_code[f->at],
                                           f->count * sizeof *sandbox_code);
        }
        sys_close(fd);
        if (good)
                environment_filters(number);
}

/* ---- on the way in ---- */

/* BYTES of the program's, which may have given us anything. */
static bool fetch(const void *from, void *to, size_t bytes)
{
        if ((uintptr_t)from < SYS_PAGE)
                return false;
        if (sandbox.state != STATE_OPEN) /* which may not let us ask */
                memcpy(to, from, bytes);
        else if (!sys_peek(sys_pid(), (uintptr_t)from, to, bytes))
                return false;
        return true;
}

static int take_filter(const void *at)
{
        struct program p;
        int filter;

        if (!fetch(at, &p, sizeof p))
                return SANDBOX_NONE;
        filter = p.count ? filter_new(p.count) : SANDBOX_UNKNOWN;
        if (filter < 0)
                return SANDBOX_UNKNOWN;
        return fetch(p.code, &sandbox_code[sandbox.filters[filter].at], p.count * sizeof *p.code)
                       ? filter
                       : SANDBOX_NONE;
}

static bool gives_memory(int filter)
{
        const uint64_t map[SANDBOX_ARGUMENTS] = { 0, SYS_PAGE, PROT_READ | PROT_WRITE,
                                                  SYS_MEMORY_FLAGS, ~0ull, 0 };
        const uint64_t protect[SANDBOX_ARGUMENTS] = { 0, SYS_PAGE, PROT_READ | PROT_WRITE };
        const struct filter *f = &sandbox.filters[filter];

        return filter_allows(f, ARCH_SYS_MMAP, map) && filter_allows(f, SYS_mprotect, protect) &&
               filter_allows(f, SYS_madvise,
                             (const uint64_t[SANDBOX_ARGUMENTS]){ 0, SYS_PAGE, MADV_DONTDUMP });
}

static bool lets(long number, uint64_t a, uint64_t b, uint64_t c)
{
        return all_allow(number, (const uint64_t[SANDBOX_ARGUMENTS]){ a, b, c });
}

/* What arena.c and hello.c cannot do without. */
bool sandbox_lets_begin(void)
{
        uint32_t state = __atomic_load_n(&sandbox.state, __ATOMIC_ACQUIRE);

        if (state != STATE_JUDGED)
                return state == STATE_OPEN;
        return (lets(SYS_memfd_create, 0, 3, 0) ||
                lets(SYS_openat, (uint64_t)SYS_AT_HERE, 0, SYS_O_UNNAMED | SYS_O_CLOEXEC)) &&
               (lets(ARCH_SYS_FTRUNCATE, 0, 0, 0) || lets(SYS_pwrite64, 0, 0, 1)) &&
               lets(ARCH_SYS_MMAP, 0, SYS_PAGE, PROT_NONE) &&
               lets(SYS_mprotect, 0, SYS_PAGE, PROT_READ | PROT_WRITE) &&
               lets(SYS_madvise, 0, SYS_PAGE, MADV_WIPEONFORK) &&
               lets(SYS_socket, 1 /* AF_UNIX */, 0, 0) && lets(SYS_connect, 0, 0, 0) &&
               lets(SYS_sendmsg, 0, 0, 0);
}

static bool may_exec(int filter)
{
        static const uint64_t none[SANDBOX_ARGUMENTS];

        return filter_allows(&sandbox.filters[filter], SYS_execve, none);
}

static void change(int filter, uint32_t on)
{
        __atomic_add_fetch(&sandbox.known, on ? 1u : ~0u, __ATOMIC_ACQ_REL);
        if (filter < 0)
                __atomic_add_fetch(&sandbox.unknown, on ? 1u : ~0u, __ATOMIC_ACQ_REL);
        else
                __atomic_store_n(&sandbox.filters[filter].on, on, __ATOMIC_RELEASE);
        settle();
}

void sandbox_heed(void)
{
        bool memory = true;

        for (uint32_t i = 0; i < sandbox.count; i++)
                memory = memory && gives_memory((int)i);
        if (!sandbox.count)
                return;
        filters_write(-1);
        fault_prepare();
        if (!memory)
                arena_stock_up();
        settle();
}

int sandbox_enter(const void *program)
{
        int filter = program ? take_filter(program) : SANDBOX_UNKNOWN;

        if (filter == SANDBOX_NONE)
                return filter;
        if (filter >= 0 && may_exec(filter))
                filters_write(filter);
        if (agent_on()) {
                if (sys_pid() == agent.pid)
                        /* A signal must not lead to calls that will be forbidden. */
                        fatal_withdraw();
                fault_prepare();
                if (filter < 0 || !gives_memory(filter))
                        arena_stock_up();
        }
        change(filter, 1);
        return filter;
}

/* Its room is for the next one, unless somebody else came meanwhile. */
static void forget(int filter)
{
        uint32_t count = (uint32_t)filter + 1,
                 used = sandbox.filters[filter].at + sandbox.filters[filter].count;

        if (__atomic_compare_exchange_n(&sandbox.used, &used, sandbox.filters[filter].at, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
                __atomic_compare_exchange_n(&sandbox.count, &count, (uint32_t)filter, false,
                                            __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* A filter that was not loaded after all is forgotten. */
void sandbox_entered(int filter, bool good)
{
        if (good || filter == SANDBOX_NONE)
                return;
        change(filter, 0);
        if (filter >= 0)
                forget(filter);
        if (agent_on() && sys_pid() == agent.pid)
                fatal_start();
}
