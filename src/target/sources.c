/* SPDX-License-Identifier: MIT */
/* sources.c -- the recorded processes, and their relays. */
#include "target/target.h"
#include "wire/journal.h"
#include "wire/hello.h"

struct vector {
        void *base;
        unsigned long length;
};

struct message {
        void *name;
        uint32_t name_length;
        struct vector *vectors;
        unsigned long vector_count;
        void *control;
        unsigned long control_length;
        uint32_t flags;
};

struct control {
        unsigned long length;
        int32_t level, type;
        int32_t fd, pad;
};

struct credentials {
        int32_t pid;
        uint32_t uid, gid;
};

/* ---- one process ---- */

struct source *source_of(uint32_t pid)
{
        struct source *found = NULL;

        for (uint32_t i = 0; i < TARGET_SOURCES; i++)
                if (target.sources[i].used && target.sources[i].pid == pid &&
                    (!found || target.sources[i].number > found->number))
                        found = &target.sources[i];
        return found;
}

static void drop(struct source *s)
{
        sys_close(s->ledger);
        sys_unmap(s->head, (sizeof *s->head + SYS_PAGE - 1) & ~(SYS_PAGE - 1));
        s->used = false;
}

/* A free place; one that ended longest ago is given up for it. */
static struct source *free_place(void)
{
        struct source *oldest = NULL;

        for (uint32_t i = 0; i < TARGET_SOURCES; i++) {
                struct source *s = &target.sources[i];

                if (!s->used)
                        return s;
                if (s->over && !s->relay && (!oldest || s->number < oldest->number))
                        oldest = s;
        }
        if (oldest) {
                target.dropped += !oldest->sent;
                drop(oldest);
        }
        return oldest;
}

static void start_relay(struct source *s, bool again)
{
        int32_t pair[2];
        struct relay_job job = { .ledger = s->ledger, .pid = s->pid, .is_child = s->is_child,
                                 .again = again, .control = s->control,
                                 .moments = s->control->moments };

        s->current = s->sent = false;
        s->asked = 0;
        if (sys_failed(sys_call6(SYS_socketpair, KERNEL_UNIX, KERNEL_SEQPACKET | SYS_O_CLOEXEC, 0,
                                 (long)pair, 0, 0)))
                return;
        s->relay = kernel_fork();
        if (s->relay == 0) {
                sys_call6(SYS_prctl, 1 /* PR_SET_PDEATHSIG */, 9, 0, 0, 0, 0);
                target_forget(NULL);
                sys_close(pair[0]);
                job.out = pair[1];
                relay_run(&job);
        }
        sys_close(pair[1]);
        s->pipe = pair[0];
        if (s->relay < 0) {
                sys_close(pair[0]);
                s->pipe = -1;
                s->relay = 0;
                return;
        }
        host_source(s, (s->is_main ? PROTOCOL_SOURCE_MAIN : 0) |
                       (again ? PROTOCOL_SOURCE_AGAIN : 0));
}

static void stop_relay(struct source *s)
{
        int32_t unused;

        if (s->relay > 0) {
                sys_call3(SYS_kill, s->relay, 9, 0);
                kernel_wait(s->relay, &unused, 0);
        }
        if (s->pipe >= 0)
                sys_close(s->pipe);
        s->pipe = -1;
        s->relay = 0;
}

/* ---- hello ---- */

static void finish(struct source *s, uint32_t how)
{
        s->over = true;
        __atomic_store_n(&s->control->finish, how, __ATOMIC_RELEASE);
}

/* The process became another program: what it was is over. */
static void end_of_former(uint32_t pid)
{
        struct source *s = source_of(pid);

        if (s && !s->over)
                finish(s, JOURNAL_END_EXEC);
}

/* Not when nobody has waited for it yet, either. */
static bool is_alive(const struct source *s)
{
        long fd = sys_call3(SYS_pidfd_open, s->pid, 0, 0);
        struct kernel_poll p = { (int32_t)fd, KERNEL_IN, 0 };
        bool alive;

        if (fd < 0)
                return sys_call3(SYS_kill, s->pid, 0, 0) != -SYS_ESRCH;
        alive = kernel_poll(&p, 1, 0) != 1;
        sys_close(fd);
        return alive;
}

void source_leave_all(void)
{
        for (uint32_t i = 0; i < TARGET_SOURCES; i++)
                if (target.sources[i].used && !target.sources[i].over &&
                    is_alive(&target.sources[i]))
                        finish(&target.sources[i], JOURNAL_END_LEFT);
}

static void add(long ledger, uint32_t pid, bool attached)
{
        struct ledger_head *head = relay_head(ledger);
        struct source *s;

        end_of_former(pid);
        s = head ? free_place() : NULL;
        if (!s) {
                say(head ? "too many processes: one is not recorded"
                         : "a process sent no ledger of this version of seep: it is not recorded");
                if (head)
                        relay_forget(head);
                sys_close(ledger);
                return;
        }
        *s = (struct source){ .used = true, .pid = pid, .number = target.next_number++,
                              .ledger = ledger, .head = head, .pipe = -1,
                              .is_main = attached || pid == (uint32_t)target.child,
                              .is_child = pid == (uint32_t)target.child,
                              .control = &target.controls[s - target.sources] };
        *s->control = (struct relay_control){ .finish = 0 };
        if (target.host.stage == HOST_STREAMS)
                start_relay(s, false);
        else
                relay_forget(head);
}

/* A hello and the ledger that came with it; -1: it is none. */
static long take_hello(long fd, long flags, struct wire_hello *hello, long *got)
{
        struct vector v = { hello, sizeof *hello };
        struct control c = { .fd = -1 };
        struct message m = { .vectors = &v, .vector_count = 1, .control = &c,
                             .control_length = sizeof c };

        *got = sys_call3(SYS_recvmsg, fd, (long)&m, flags | 0x40000000 /* MSG_CMSG_CLOEXEC */);
        if (*got < 0 || c.fd < 0 || c.type != 1)
                return -1;
        if (*got == sizeof *hello && hello->magic == WIRE_HELLO_MAGIC &&
            hello->version == LEDGER_VERSION)
                return c.fd;
        sys_close(c.fd);
        return -1;
}

void source_hello(void)
{
        long fd = sys_call6(SYS_accept4, target.hellos, 0, 0, SYS_O_CLOEXEC, 0, 0);
        struct wire_hello hello = { 0 };
        struct kernel_poll ready = { (int32_t)fd, KERNEL_IN, 0 };
        struct credentials who = { 0, 0, 0 };
        uint32_t size = sizeof who;
        long got = -1, ledger = -1;

        if (fd < 0)
                return;
        if (kernel_poll(&ready, 1, 2000) == 1)
                ledger = take_hello(fd, 0, &hello, &got);
        sys_call6(SYS_getsockopt, fd, KERNEL_SOL_SOCKET, KERNEL_SO_PEERCRED, (long)&who,
                  (long)&size, 0);
        sys_close(fd);
        if (ledger >= 0 && who.pid > 0)
                add(ledger, (uint32_t)who.pid, false);
        else if (ledger >= 0)
                sys_close(ledger);
}

bool source_attached(void)
{
        struct wire_hello hello = { 0 };
        long got = 0, ledger = take_hello(target.agents, KERNEL_DONTWAIT, &hello, &got);

        if (ledger >= 0)
                add(ledger, hello.pid, true);
        return got > 0 || got == -SYS_EAGAIN || got == -SYS_EINTR;
}

/* ---- the host comes and goes ---- */

void source_start_relays(void)
{
        for (uint32_t i = 0; i < TARGET_SOURCES; i++) {
                struct source *s = &target.sources[i];

                if (s->used && !s->relay)
                        start_relay(s, true);
        }
}

void source_stop_relays(void)
{
        for (uint32_t i = 0; i < TARGET_SOURCES; i++) {
                struct source *s = &target.sources[i];

                if (!s->used)
                        continue;
                stop_relay(s);
                relay_forget(s->head);
        }
}

/* ---- packets ---- */

static void relay_ended(struct source *s)
{
        int32_t status = 0;

        sys_close(s->pipe);
        s->pipe = -1;
        kernel_wait(s->relay, &status, 0);
        s->relay = 0;
        s->current = true;
        if (status)
                say("the ledger of a process makes no sense any more: its journal ends there");
        s->sent = s->over = true;
        relay_forget(s->head);
        host_source(s, PROTOCOL_SOURCE_OVER | (status ? PROTOCOL_SOURCE_BROKEN : 0));
}

static void pass_moment(const struct source *s, const uint8_t *word)
{
        uint32_t ticket;

        memcpy(&ticket, word, sizeof ticket);
        host_moment(s, ticket);
}

void source_reads(struct source *s)
{
        static uint8_t packet[PROTOCOL_BODY_MAX];
        long got = 0;

        while (host_has_room(PROTOCOL_BODY_MAX)) {
                got = sys_call6(SYS_recvfrom, s->pipe, (long)packet, sizeof packet,
                                KERNEL_DONTWAIT, 0, 0);
                if (got <= 0)
                        break;
                if (got == RELAY_MOMENT_BYTES)
                        pass_moment(s, packet + 1);
                else if (got == 1)
                        s->current = true;
                else
                        host_packet(s, packet, (uint32_t)got);
        }
        if (got == 0 && host_has_room(PROTOCOL_BODY_MAX))
                relay_ended(s);
}

/* ---- time ---- */

static void tick(struct source *s)
{
        struct ledger_head *h = s->head;
        uint64_t now = sys_clock_ns(SYS_CLOCK_MONO);
        uint32_t ms = now > h->start_monotonic_ns
                              ? (uint32_t)((now - h->start_monotonic_ns) / 1000000u)
                              : 0;
        uint32_t was = __atomic_load_n(&h->tick_ms, __ATOMIC_RELAXED);

        while (was < ms && !__atomic_compare_exchange_n(&h->tick_ms, &was, ms, true,
                                                        __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
                ;
}

void source_tick(void)
{
        for (uint32_t i = 0; i < TARGET_SOURCES; i++) {
                struct source *s = &target.sources[i];

                if (!s->used || s->over)
                        continue;
                tick(s);
                if (!s->is_child && !s->relay && !is_alive(s))
                        s->over = true;
        }
}

/* ---- searches for leaks ---- */

static void answer_asked(struct source *s, uint32_t asked, uint64_t definite)
{
        struct ledger_head *h = s->head;

        __atomic_store_n(&h->scan_definite, definite, __ATOMIC_RELAXED);
        __atomic_store_n(&h->scan_done, asked, __ATOMIC_RELEASE);
        kernel_wake(&h->scan_done);
}

static void look_at_asked(struct source *s)
{
        struct ledger_head *h = s->head;
        uint32_t asked = __atomic_load_n(&h->scan_asked, __ATOMIC_ACQUIRE);
        uint64_t now = kernel_now_ms();

        if (asked == __atomic_load_n(&h->scan_done, __ATOMIC_RELAXED))
                return;
        if (s->asked != asked && host_has_room(0) && target.host.stage == HOST_STREAMS &&
            s->relay) {
                s->asked = asked;
                s->asked_ms = now;
                host_asks(s, asked, h->scan_reason);
        }
        if (target.host.stage != HOST_STREAMS || !s->relay ||
            (s->asked == asked && now - s->asked_ms > target.hold_ms))
                answer_asked(s, asked, 0);
        else
                __atomic_store_n(&h->working, h->tick_ms, __ATOMIC_RELAXED);
}

void source_asks(void)
{
        for (uint32_t i = 0; i < TARGET_SOURCES; i++)
                if (target.sources[i].used && !target.sources[i].over)
                        look_at_asked(&target.sources[i]);
}

void source_searched(uint32_t pid, uint32_t asked, uint64_t definite)
{
        struct source *s = source_of(pid);

        if (s && !s->over && s->asked == asked)
                answer_asked(s, asked, definite);
}

void source_reaped(long pid, int32_t status)
{
        struct source *s = source_of((uint32_t)pid);

        if (s && s->is_child && !s->over) {
                __atomic_store_n(&s->control->ended, (uint32_t)status + 1, __ATOMIC_RELEASE);
                s->over = true;
        }
}

bool source_all_over(void)
{
        for (uint32_t i = 0; i < TARGET_SOURCES; i++)
                if (target.sources[i].used && !target.sources[i].over)
                        return false;
        return true;
}

bool source_all_sent(void)
{
        for (uint32_t i = 0; i < TARGET_SOURCES; i++)
                if (target.sources[i].used && !target.sources[i].sent)
                        return false;
        return true;
}
