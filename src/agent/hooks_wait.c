/* SPDX-License-Identifier: MIT */
/*
 * hooks_wait.c -- calls that wait: one that our own signal interrupted goes on with the time that
 * is left.
 *
 * Room:   inside; called by the program.
 * Keeps:  a signal of the program's own ends the call as ever.  Calls that the kernel or the
 *         handler (signal.c) begins again as they were are not here.
 * Cost:   a few instructions; a look at the clock for a call with a relative limit.
 */
#include "agent/agent.h"
#include "agent/hook.h"
#include "agent/sys.h"
#include "agent/wait.h"

#include "agent/guest.h"

#define NS_PER_MS 1000000ull
#define NS_PER_S 1000000000ull
#define ABSOLUTE_TIME 1
#define TICK_MS 50u /* the observer's clock may be that old: it ticks every 10 ms, if let */

enum { SOCKET_LEVEL = 1 };

/* timespec, and (ns: microseconds) timeval. */
struct wait_span {
        long seconds, ns;
};

static uint64_t now_ns(void)
{
        return sys_clock_ns(SYS_CLOCK_MONO);
}

/* When a wait of SPAN that begins now must end; 0: no limit, or nobody will ask. */
static uint64_t deadline_of(const struct wait_span *s)
{
        return s && agent.head ? now_ns() + (uint64_t)s->seconds * NS_PER_S + (uint64_t)s->ns : 0;
}

static uint64_t left_ns(uint64_t deadline)
{
        uint64_t now = now_ns();

        return deadline > now ? deadline - now : 0;
}

static struct wait_span left_span(uint64_t deadline)
{
        uint64_t left = left_ns(deadline);

        return (struct wait_span){ (long)(left / NS_PER_S), (long)(left % NS_PER_S) };
}

/* ---- waiting for descriptors, limit in milliseconds ---- */

static uint64_t deadline_of_ms(int ms)
{
        return ms > 0 && agent.head ? now_ns() + (uint64_t)ms * NS_PER_MS : 0;
}

static int left_ms(uint64_t deadline, int ms)
{
        return deadline ? (int)((left_ns(deadline) + NS_PER_MS - 1) / NS_PER_MS) : ms;
}

#define WAIT_MS(NAME, SYMBOL, PARAMETERS, ARGUMENTS)                         \
        int hook_##NAME PARAMETERS HOOK(SYMBOL);                             \
        int hook_##NAME PARAMETERS                                           \
        {                                                                    \
                uint64_t deadline = deadline_of_ms(ms);                      \
                int result;                                                  \
                                                                             \
                RETRY(result, REAL(NAME##_) ARGUMENTS, EINTR_FAILED(result), \
                      ms = left_ms(deadline, ms));                           \
                return result;                                               \
        }

WAIT_MS(poll, "poll", (void *fds, unsigned long count, int ms), (fds, count, ms))
WAIT_MS(poll_chk, "__poll_chk", (void *fds, unsigned long count, int ms, size_t room),
        (fds, count, ms, room))
WAIT_MS(epoll_wait, "epoll_wait", (int fd, void *events, int room, int ms), (fd, events, room, ms))
WAIT_MS(epoll_pwait, "epoll_pwait", (int fd, void *events, int room, int ms, const void *mask),
        (fd, events, room, ms, mask))

/* ---- limit as a timespec ---- */

#define WAIT_SPAN(NAME, SYMBOL, PARAMETERS, ARGUMENTS)                         \
        int hook_##NAME PARAMETERS HOOK(SYMBOL);                               \
        int hook_##NAME PARAMETERS                                             \
        {                                                                      \
                uint64_t deadline = deadline_of(limit);                        \
                struct wait_span left;                                              \
                int result;                                                    \
                                                                               \
                RETRY(result, REAL(NAME##_) ARGUMENTS, EINTR_FAILED(result), { \
                        if (limit) {                                           \
                                left = left_span(deadline);                    \
                                limit = &left;                                 \
                        }                                                      \
                });                                                            \
                return result;                                                 \
        }

WAIT_SPAN(ppoll, "ppoll",
          (void *fds, unsigned long count, const struct wait_span *limit, const void *mask),
          (fds, count, limit, mask))
WAIT_SPAN(ppoll_chk, "__ppoll_chk",
          (void *fds, unsigned long count, const struct wait_span *limit, const void *mask,
           size_t room),
          (fds, count, limit, mask, room))
WAIT_SPAN(pselect, "pselect",
          (int count, void *r, void *w, void *e, const struct wait_span *limit, const void *mask),
          (count, r, w, e, limit, mask))
WAIT_SPAN(epoll_pwait2, "epoll_pwait2",
          (int fd, void *events, int room, const struct wait_span *limit, const void *mask),
          (fd, events, room, limit, mask))
WAIT_SPAN(semtimedop, "semtimedop",
          (int id, void *operations, size_t count, const struct wait_span *limit),
          (id, operations, count, limit))
WAIT_SPAN(sigtimedwait, "sigtimedwait",
          (const void *set, void *information, const struct wait_span *limit),
          (set, information, limit))

/* select() counts its limit (a timeval) down in glibc, but not in musl. */
int hook_select(int count, void *r, void *w, void *e, struct wait_span *limit) HOOK("select");

int hook_select(int count, void *r, void *w, void *e, struct wait_span *limit)
{
        struct wait_span given = limit ? *limit : (struct wait_span){ 0, 0 }, left = given;
        uint64_t deadline = limit ? deadline_of(&(struct wait_span){ given.seconds,
                                                                     given.ns * 1000 }) : 0;
        int result;

        RETRY(result, REAL(select_)(count, r, w, e, limit ? &left : NULL), EINTR_FAILED(result), {
                given = left_span(deadline);
                given.ns /= 1000;
                left = given;
        });
        if (limit && (left.seconds != given.seconds || left.ns != given.ns))
                *limit = left;
        return result;
}

/* ---- no limit ---- */

#define WAIT_PLAIN(RESULT, NAME, SYMBOL, PARAMETERS, ARGUMENTS)                \
        RESULT hook_##NAME PARAMETERS HOOK(SYMBOL);                            \
        RESULT hook_##NAME PARAMETERS                                          \
        {                                                                      \
                RESULT result;                                                 \
                                                                               \
                RETRY(result, REAL(NAME##_) ARGUMENTS, EINTR_FAILED(result), ); \
                return result;                                                 \
        }

WAIT_PLAIN(int, semop, "semop", (int id, void *operations, size_t count), (id, operations, count))
WAIT_PLAIN(long, msgrcv, "msgrcv", (int id, void *to, size_t size, long type, int flags),
           (id, to, size, type, flags))
WAIT_PLAIN(int, msgsnd, "msgsnd", (int id, const void *from, size_t size, int flags),
           (id, from, size, flags))
WAIT_PLAIN(int, sigwaitinfo, "sigwaitinfo", (const void *set, void *information),
           (set, information))
WAIT_PLAIN(int, sigsuspend, "sigsuspend", (const void *mask), (mask))
WAIT_PLAIN(int, pause, "pause", (void), ())

/* ---- sleeping: the kernel tells what is left ---- */

int hook_nanosleep(const struct wait_span *span, struct wait_span *rest) HOOK("nanosleep");
int hook_clock_nanosleep(int clock, int flags, const struct wait_span *span, struct wait_span *rest)
        HOOK("clock_nanosleep");
int hook_usleep(unsigned us) HOOK("usleep");
unsigned hook_sleep(unsigned seconds) HOOK("sleep");

int hook_nanosleep(const struct wait_span *span, struct wait_span *rest)
{
        struct wait_span left = { 0, 0 };
        int result;

        RETRY(result, REAL(nanosleep_)(span, &left), EINTR_FAILED(result), span = &left);
        if (rest && result == -1)
                *rest = left;
        return result;
}

int hook_clock_nanosleep(int clock, int flags, const struct wait_span *span, struct wait_span *rest)
{
        struct wait_span left = { 0, 0 };
        bool absolute = flags & ABSOLUTE_TIME;
        int result;

        RETRY(result, REAL(clock_nanosleep_)(clock, flags, span, absolute ? rest : &left),
              result == SYS_EINTR, {
                      if (!absolute)
                              span = &left;
              });
        if (rest && !absolute && result == SYS_EINTR)
                *rest = left;
        return result;
}

int hook_usleep(unsigned us)
{
        struct wait_span s = { (long)(us / 1000000u), (long)(us % 1000000u * 1000) };

        return hook_nanosleep(&s, NULL);
}

unsigned hook_sleep(unsigned seconds)
{
        struct wait_span s = { (long)seconds, 0 };

        return hook_nanosleep(&s, &s) == 0 ? 0 : (unsigned)s.seconds;
}

/* C11's: 0, -1 when a signal came, -2 otherwise; errno is not its business. */
int hook_thrd_sleep(const struct wait_span *span, struct wait_span *rest) HOOK("thrd_sleep");

int hook_thrd_sleep(const struct wait_span *span, struct wait_span *rest)
{
        int *error = real.errno_location ? real.errno_location() : NULL,
            before = error ? *error : 0;
        int result = hook_nanosleep(span, rest) == 0 ? 0 : error && *error == SYS_EINTR ? -1 : -2;

        if (error)
                *error = before;
        return result;
}

/* ---- sockets with a limit of their own (SO_RCVTIMEO, SO_SNDTIMEO) ---- */

bool wait_socket(int fd, int option, short events, uint32_t begin_ms)
{
        struct { int fd; short events, revents; } one = { fd, events, 0 };
        struct wait_span limit = { 0, 0 }; /* a timeval first */
        long ready;
        uint32_t size = sizeof limit,
                 now_ms = (uint32_t)((now_ns() - agent.head->start_monotonic_ns) / NS_PER_MS);
        uint64_t passed = now_ms > begin_ms + TICK_MS ? now_ms - begin_ms - TICK_MS : 0, all;

        if (sys_failed(sys_call6(SYS_getsockopt, fd, SOCKET_LEVEL, option, (long)&limit,
                                 (long)&size, 0)))
                return true;
        all = (uint64_t)limit.seconds * 1000 + (uint64_t)limit.ns / 1000;
        if (!all)
                return true;
        limit = (struct wait_span){
                (long)((all > passed ? all - passed : 0) / 1000),
                (long)((all > passed ? all - passed : 0) % 1000 * NS_PER_MS) };
        do { /* the kernel counts the limit down */
                signal_wait.interrupted = false;
                ready = sys_call6(SYS_ppoll, (long)&one, 1, (long)&limit, 0, 0, 0);
        } while (ready == -SYS_EINTR && signal_wait.interrupted);
        if (ready == 0)
                *real.errno_location() = SYS_EAGAIN;
        return ready != 0 && ready != -SYS_EINTR;
}

#define SOCKET(RESULT, NAME, SYMBOL, OPTION, EVENTS, PARAMETERS, ARGUMENTS)    \
        RESULT hook_##NAME PARAMETERS HOOK(SYMBOL);                            \
        RESULT hook_##NAME PARAMETERS                                          \
        {                                                                      \
                uint32_t begin = wait_begin();                                 \
                RESULT result;                                                 \
                                                                               \
                RETRY(result, REAL(NAME##_) ARGUMENTS, EINTR_FAILED(result), { \
                        if (!wait_socket(fd, OPTION, EVENTS, begin))          \
                                break;                                         \
                });                                                            \
                return result;                                                 \
        }

SOCKET(long, recv, "recv", WAIT_RECEIVE, WAIT_IN, (int fd, void *to, size_t size, int flags),
       (fd, to, size, flags))
SOCKET(long, recv_chk, "__recv_chk", WAIT_RECEIVE, WAIT_IN,
       (int fd, void *to, size_t size, size_t room, int flags), (fd, to, size, room, flags))
SOCKET(long, recvfrom, "recvfrom", WAIT_RECEIVE, WAIT_IN,
       (int fd, void *to, size_t size, int flags, void *from, void *length),
       (fd, to, size, flags, from, length))
SOCKET(long, recvfrom_chk, "__recvfrom_chk", WAIT_RECEIVE, WAIT_IN,
       (int fd, void *to, size_t size, size_t room, int flags, void *from, void *length),
       (fd, to, size, room, flags, from, length))
SOCKET(long, recvmsg, "recvmsg", WAIT_RECEIVE, WAIT_IN, (int fd, void *message, int flags),
       (fd, message, flags))
SOCKET(int, recvmmsg, "recvmmsg", WAIT_RECEIVE, WAIT_IN,
       (int fd, void *messages, unsigned count, int flags, void *limit),
       (fd, messages, count, flags, limit))
SOCKET(long, send, "send", WAIT_SEND, WAIT_OUT, (int fd, const void *from, size_t size, int flags),
       (fd, from, size, flags))
SOCKET(long, sendto, "sendto", WAIT_SEND, WAIT_OUT,
       (int fd, const void *from, size_t size, int flags, const void *to, unsigned length),
       (fd, from, size, flags, to, length))
SOCKET(long, sendmsg, "sendmsg", WAIT_SEND, WAIT_OUT, (int fd, const void *message, int flags),
       (fd, message, flags))
SOCKET(int, sendmmsg, "sendmmsg", WAIT_SEND, WAIT_OUT,
       (int fd, void *messages, unsigned count, int flags), (fd, messages, count, flags))
SOCKET(long, read, "read", WAIT_RECEIVE, WAIT_IN, (int fd, void *to, size_t size), (fd, to, size))
SOCKET(long, read_chk, "__read_chk", WAIT_RECEIVE, WAIT_IN,
       (int fd, void *to, size_t size, size_t room), (fd, to, size, room))
SOCKET(long, readv, "readv", WAIT_RECEIVE, WAIT_IN, (int fd, const void *to, int count),
       (fd, to, count))
SOCKET(long, write, "write", WAIT_SEND, WAIT_OUT, (int fd, const void *from, size_t size),
       (fd, from, size))
SOCKET(long, writev, "writev", WAIT_SEND, WAIT_OUT, (int fd, const void *from, int count),
       (fd, from, count))
