/* SPDX-License-Identifier: MIT */
#include "attach/limits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/arch/arch.h"
#include "attach/hold.h"
#include "attach/mappings.h"
#include "attach/procfs.h"
#include "base/clock.h"
#include "base/heap.h"

#define NS_PER_S 1000000000ull
#define NS_PER_MS 1000000ull
#define MARK_BITS 31u
#define MARK_MOST (1u << MARK_BITS)
#define LIMIT_MOST_NS (MARK_MOST / 2 * NS_PER_MS) /* later ends look like past ones */
#define SLEW 1024u /* our clock may be slowed down or sped up by a part in 2000 */
#define MASK_WORDS 128u
#define STAT_PROCESSOR 36u /* fields behind the name in "stat" */
#define RING_LIMIT_AT 16u  /* in struct io_uring_getevents_arg */
enum { RING_FLAGS = 3, RING_EXTENDED = 1 << 3, RING_ABSOLUTE = 1 << 5 };

enum limits_kind { NONE, IN_MS, IN_SPAN, IN_RING, OF_RECEIVER, OF_SENDER };

/* Where the limit of a call is, and what it returns when its time is over. */
static const struct limited {
        long call;
        enum limits_kind kind;
        uint32_t argument; /* of the limit, or the descriptor */
        long late;
} limited[] = {
#ifdef SYS_epoll_wait
        { SYS_epoll_wait, IN_MS, 3, 0 },
#endif
        { SYS_epoll_pwait, IN_MS, 3, 0 },
#ifdef SYS_epoll_pwait2
        { SYS_epoll_pwait2, IN_SPAN, 3, 0 },
#endif
#ifdef SYS_semtimedop
        { SYS_semtimedop, IN_SPAN, 3, -EAGAIN },
#endif
#ifdef SYS_semop
        { SYS_semop, NONE, 0, 0 },
#endif
#ifdef SYS_rt_sigtimedwait
        { SYS_rt_sigtimedwait, IN_SPAN, 2, -EAGAIN },
#endif
#ifdef SYS_io_getevents
        { SYS_io_getevents, IN_SPAN, 4, 0 },
#endif
#ifdef SYS_io_uring_enter
        { SYS_io_uring_enter, IN_RING, 4, -ETIME },
#endif
        { SYS_read, OF_RECEIVER, 0, -EAGAIN },     { SYS_readv, OF_RECEIVER, 0, -EAGAIN },
        { SYS_recvfrom, OF_RECEIVER, 0, -EAGAIN }, { SYS_recvmsg, OF_RECEIVER, 0, -EAGAIN },
        { SYS_accept4, OF_RECEIVER, 0, -EAGAIN },
#ifdef SYS_accept
        { SYS_accept, OF_RECEIVER, 0, -EAGAIN },
#endif
#ifdef SYS_recvmmsg
        { SYS_recvmmsg, OF_RECEIVER, 0, -EAGAIN },
#endif
        { SYS_write, OF_SENDER, 0, -EAGAIN },      { SYS_writev, OF_SENDER, 0, -EAGAIN },
        { SYS_sendto, OF_SENDER, 0, -EAGAIN },     { SYS_sendmsg, OF_SENDER, 0, -EAGAIN },
        { SYS_sendmmsg, OF_SENDER, 0, -EAGAIN },   { SYS_connect, OF_SENDER, 0, -EINPROGRESS },
};

static const struct limited *limited_find(long call)
{
        for (size_t i = 0; i < sizeof limited / sizeof *limited; i++)
                if (limited[i].call == call)
                        return &limited[i];
        return NULL;
}

/* ---- before the stop ---- */

/* "KEY   :   NUMBER", or a number of milliseconds with six decimals, which is taken as
 * nanoseconds.  false: there is none. */
static bool sched_get(const struct str *text, const char *key, uint64_t *out)
{
        const char *at = memmem(str_get(text), text->length, key, strlen(key));
        char *end;

        at = at ? strchr(at, ':') : NULL;
        if (!at)
                return false;
        *out = strtoull(at + 1, &end, 10);
        if (*end == '.')
                *out = *out * NS_PER_MS + strtoull(end + 1, NULL, 10);
        return true;
}

/* When TID last went to sleep, by its processor's clock, and how often it has done so. */
static bool sched_read(pid_t pid, pid_t tid, uint64_t *since, uint64_t *sleeps)
{
        struct str text = { 0 };
        bool good = procfs_text(pid, tid, "sched", &text) &&
                    sched_get(&text, "se.exec_start", since) &&
                    sched_get(&text, "nr_voluntary_switches", sleeps);

        str_free(&text);
        return good;
}

static int processor_of(pid_t pid, pid_t tid)
{
        struct str text = { 0 };
        const char *at = procfs_text(pid, tid, "stat", &text) ? strrchr(str_get(&text), ')') : NULL;
        int found;

        for (uint32_t i = 0; at && i <= STAT_PROCESSOR; i++)
                at = strchr(at + 1, ' ');
        found = at ? (int)strtol(at + 1, NULL, 10) : -1;
        str_free(&text);
        return found;
}

/* "NUMBER SIX ARGUMENTS SP PC" of a thread that sleeps in a call; "running", or "-1 ...". */
static bool is_limited(pid_t pid, pid_t tid, uint64_t *pc)
{
        struct str text = { 0 };
        bool found = procfs_text(pid, tid, "syscall", &text) && *str_get(&text) >= '0' &&
                     *str_get(&text) <= '9' && limited_find(strtol(str_get(&text), NULL, 10));
        const char *last = found ? strrchr(str_get(&text), ' ') : NULL;

        if (last)
                *pc = strtoull(last + 1 + 2, NULL, 16); /* behind "0x" */
        str_free(&text);
        return last;
}

/* It has slept all the time if it sleeps in between, and has gone to sleep as often before as
 * after. */
void limits_look(struct limits *l, pid_t pid, pid_t tid)
{
        struct limits_wait w = { .tid = tid, .processor = -1 };
        uint64_t sleeps;

        if (!is_limited(pid, tid, &w.pc))
                return;
        if (arch_keeps_marks() && sched_read(pid, tid, &w.since_ns, &sleeps) &&
            is_limited(pid, tid, &w.pc) && sched_read(pid, tid, &w.since_ns, &w.sleeps) &&
            sleeps == w.sleeps)
                w.processor = processor_of(pid, tid);
        if (w.processor < 0)
                w.since_ns = 0;
        l->waits = heap_grow(l->waits, l->count + 1, sizeof *l->waits);
        l->waits[l->count++] = w;
}

/* How far the clock of PROCESSOR, which stands still while that serves interrupts, is behind ours;
 * rather too far.  0: unknown. */
static uint64_t clock_behind(int processor)
{
        unsigned long before[MASK_WORDS] = { 0 }, only[MASK_WORDS] = { 0 };
        const uint32_t bits = 8 * sizeof *only;
        uint64_t theirs = 0, sleeps, behind = 0;
        long bytes = syscall(SYS_sched_getaffinity, 0, sizeof before, before);

        if (bytes <= 0 || processor < 0 || (uint32_t)processor >= MASK_WORDS * bits)
                return 0;
        only[(uint32_t)processor / bits] = 1ul << (uint32_t)processor % bits;
        if (syscall(SYS_sched_setaffinity, 0, sizeof only, only) != 0)
                return 0;
        hold_nap(HOLD_NAP_WHOLE); /* whoever goes on has the time of now */
        if (sched_read((pid_t)syscall(SYS_getpid), (pid_t)syscall(SYS_gettid), &theirs, &sleeps))
                behind = clock_now_ns() - theirs;
        syscall(SYS_sched_setaffinity, 0, bytes, before);
        return behind;
}

static bool begins_with(const char *text, const char *front)
{
        return strncmp(text, front, strlen(front)) == 0;
}

static bool is_library(const struct mapping *m, uint64_t pc)
{
        const char *name = m && m->start <= pc && pc < m->end ? m->path : "";

        for (const char *at = name, *end = name + strcspn(name, "\n"); at < end; at++)
                if (*at == '/')
                        name = at + 1;
        return begins_with(name, "libc.") || begins_with(name, "libc-") ||
               begins_with(name, "libpthread") || begins_with(name, "ld-musl");
}

static void find_libraries(struct limits *l, pid_t pid)
{
        struct str text = { 0 };
        struct mappings all = { 0 };

        procfs_text(pid, l->waits[0].tid, "maps", &text);
        mappings_parse(&all, str_get(&text));
        for (uint32_t i = 0; i < l->count; i++)
                l->waits[i].library = is_library(mappings_find(&all, l->waits[i].pc),
                                                 l->waits[i].pc);
        mappings_free(&all);
        str_free(&text);
}

void limits_settle(struct limits *l, pid_t pid)
{
        if (l->count)
                find_libraries(l, pid);
        for (uint32_t i = 0; i < l->count; i++) {
                int processor = l->waits[i].processor;
                uint64_t behind = processor >= 0 ? clock_behind(processor) : 0,
                         now = clock_now_ns();

                for (uint32_t k = i; processor >= 0 && k < l->count; k++) {
                        struct limits_wait *w = &l->waits[k];
                        uint64_t since = w->since_ns + behind;

                        if (w->processor != processor)
                                continue;
                        w->processor = -1;
                        w->since_ns = behind && since < now ? since + (now - since) / SLEW : 0;
                }
        }
}

void limits_free(struct limits *l)
{
        free(l->waits);
        *l = (struct limits){ 0 };
}

/* ---- after the stop ---- */

static struct limits_wait *find_wait(const struct limits *l, pid_t tid)
{
        for (uint32_t i = 0; l && i < l->count; i++)
                if (l->waits[i].tid == tid && l->waits[i].since_ns)
                        return &l->waits[i];
        return NULL;
}

bool limits_know(const struct limits *l, pid_t tid)
{
        return find_wait(l, tid);
}

/* The stop itself is one time more.  (A thread that woke up just before, and was stopped on its way
 * to sleep in a call of the same kind, looks the same: that takes less than a microsecond.) */
void limits_stopped(struct limits *l, pid_t pid, pid_t tid, const struct arch_registers *r)
{
        struct limits_wait *w = find_wait(l, tid);
        uint64_t since, sleeps;

        if (w && (w->pc != arch_pc(r) || !sched_read(pid, tid, &since, &sleeps) ||
                  sleeps != w->sleeps + 1))
                w->since_ns = 0;
}

static bool peek(pid_t tid, uint64_t at, uint64_t *word)
{
        errno = 0;
        *word = (uint64_t)ptrace(PTRACE_PEEKDATA, tid, (void *)(uintptr_t)at, NULL);
        return errno == 0;
}

static uint64_t span_ns(pid_t tid, uint64_t at)
{
        uint64_t seconds, ns;

        if (!at || !peek(tid, at, &seconds) || !peek(tid, at + sizeof seconds, &ns) ||
            seconds >= LIMIT_MOST_NS / NS_PER_S)
                return 0;
        return seconds * NS_PER_S + ns;
}

static uint64_t ring_ns(pid_t tid, struct arch_registers *r, uint64_t at)
{
        uint64_t flags = *arch_argument(r, RING_FLAGS), span = 0;

        return flags & RING_EXTENDED && !(flags & RING_ABSOLUTE) &&
                               peek(tid, at + RING_LIMIT_AT, &span)
                       ? span_ns(tid, span)
                       : 0;
}

/* Of the process's own descriptor; 0 also where it is no socket. */
static uint64_t socket_ns(pid_t pid, int fd, int option)
{
        uint64_t limit[2] = { 0, 0 }; /* seconds and microseconds */
        uint32_t bytes = sizeof limit;
        int process = (int)syscall(SYS_pidfd_open, pid, 0);
        int copy = process >= 0 ? (int)syscall(SYS_pidfd_getfd, process, fd, 0) : -1;

        if (copy >= 0) {
                if (syscall(SYS_getsockopt, copy, SOL_SOCKET, option, limit, &bytes) != 0)
                        limit[0] = limit[1] = 0;
                close(copy);
        }
        if (process >= 0)
                close(process);
        return limit[0] * NS_PER_S + limit[1] * 1000;
}

/* The limit that the call in R was given; 0: none, or one that lasts for days. */
static uint64_t limit_ns(const struct limited *c, pid_t pid, pid_t tid, struct arch_registers *r)
{
        uint64_t argument = *arch_argument(r, c->argument), limit = 0;

        switch (c->kind) {
        case NONE:
                break;
        case IN_MS:
                limit = (int32_t)argument > 0 ? (uint32_t)argument * NS_PER_MS : 0;
                break;
        case IN_SPAN:
                limit = span_ns(tid, argument);
                break;
        case IN_RING:
                limit = ring_ns(tid, r, argument);
                break;
        case OF_RECEIVER:
                limit = socket_ns(pid, (int)argument, SO_RCVTIMEO);
                break;
        case OF_SENDER:
                limit = socket_ns(pid, (int)argument, SO_SNDTIMEO);
                break;
        }
        return limit < LIMIT_MOST_NS ? limit : 0;
}

/* LEFT_NS becomes the limit.  A span is put where nobody keeps anything: the kernel reads it when
 * the call begins. */
static void put_left(const struct limited *c, pid_t tid, struct arch_registers *r, uint64_t left_ns)
{
        uint64_t at = (arch_stack(r) - ARCH_RED_ZONE - 2 * sizeof at) & ~15ull;

        if (c->kind == IN_MS)
                *arch_argument(r, c->argument) = (left_ns + NS_PER_MS - 1) / NS_PER_MS;
        else if (c->kind == IN_SPAN &&
                 ptrace(PTRACE_POKEDATA, tid, (void *)(uintptr_t)at,
                        (void *)(uintptr_t)(left_ns / NS_PER_S)) == 0 &&
                 ptrace(PTRACE_POKEDATA, tid, (void *)(uintptr_t)(at + sizeof at),
                        (void *)(uintptr_t)(left_ns % NS_PER_S)) == 0)
                *arch_argument(r, c->argument) = at;
}

/* The end of a wait in milliseconds, the lower bits of it; never 0. */
static uint32_t mark_of(uint64_t end_ns)
{
        uint32_t mark = (uint32_t)((end_ns + NS_PER_MS - 1) / NS_PER_MS) % MARK_MOST;

        return mark ? mark : 1;
}

/* When the wait with MARK ends, seen from NOW: the nearest such time. */
static uint64_t end_of(uint32_t mark, uint64_t now)
{
        uint64_t now_ms = now / NS_PER_MS;
        uint32_t ahead = (mark - (uint32_t)now_ms) % MARK_MOST;

        return (now_ms + ahead - (ahead >= MARK_MOST / 2 ? MARK_MOST : 0)) * NS_PER_MS;
}

void limits_again(const struct limits *l, pid_t pid, pid_t tid, struct arch_registers *r)
{
        const struct limited *c = arch_is_narrow(r) || !arch_keeps_marks()
                                          ? NULL : limited_find(arch_interrupted(r));
        const struct limits_wait *w = c ? find_wait(l, tid) : NULL;
        uint32_t mark = c ? arch_mark(r) : 0;
        uint64_t now = clock_now_ns(), limit = c && !mark ? limit_ns(c, pid, tid, r) : 0, end;

        if (!mark && !limit) {
                arch_again(r);
                return;
        }
        end = mark ? end_of(mark, now) : (w ? w->since_ns : now) + limit;
        if (end <= now) {
                arch_give(r, c->late);
                return;
        }
        if (w && w->library)
                put_left(c, tid, r, end - now);
        arch_again(r);
        arch_set_mark(r, mark ? mark : mark_of(end));
}
