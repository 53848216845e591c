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
#include "agent/wait_span.h"

#include "agent/guest.h"

#define TICK_MS 50u /* the observer's clock may be that old: it ticks every 10 ms, if let */
#define FAR_S (1ull << 33) /* in nanoseconds, and with the clock, it still is 64 bits */

enum { SOCKET_LEVEL = 1 };

static uint64_t now_ns(void)
{
        return sys_clock_ns(SYS_CLOCK_MONO);
}

uint64_t wait_deadline(uint64_t seconds, uint64_t ns)
{
        if (!agent.head)
                return 0;
        return seconds < FAR_S ? now_ns() + seconds * NS_PER_S + ns : UINT64_MAX;
}

uint64_t wait_left_ns(uint64_t deadline)
{
        uint64_t now = now_ns();

        return deadline > now ? deadline - now : 0;
}

/* ---- waiting for descriptors, limit in milliseconds ---- */

static uint64_t deadline_of_ms(int ms)
{
        return ms > 0 && agent.head ? now_ns() + (uint64_t)ms * NS_PER_MS : 0;
}

static int left_ms(uint64_t deadline, int ms)
{
        return deadline ? (int)((wait_left_ns(deadline) + NS_PER_MS - 1) / NS_PER_MS) : ms;
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

WAIT_SPAN(ppoll, "ppoll", struct wait_span,
          (void *fds, unsigned long count, const struct wait_span *limit, const void *mask),
          (fds, count, limit, mask))
WAIT_SPAN(ppoll_chk, "__ppoll_chk", struct wait_span,
          (void *fds, unsigned long count, const struct wait_span *limit, const void *mask,
           size_t room),
          (fds, count, limit, mask, room))
WAIT_SPAN(pselect, "pselect", struct wait_span,
          (int count, void *r, void *w, void *e, const struct wait_span *limit, const void *mask),
          (count, r, w, e, limit, mask))
WAIT_SPAN(epoll_pwait2, "epoll_pwait2", struct wait_span,
          (int fd, void *events, int room, const struct wait_span *limit, const void *mask),
          (fd, events, room, limit, mask))
WAIT_SPAN(semtimedop, "semtimedop", struct wait_span,
          (int id, void *operations, size_t count, const struct wait_span *limit),
          (id, operations, count, limit))
WAIT_SPAN(sigtimedwait, "sigtimedwait", struct wait_span,
          (const void *set, void *information, const struct wait_span *limit),
          (set, information, limit))

WAIT_SELECT(select, "select", struct wait_span)

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

WAIT_SLEEP(nanosleep, "nanosleep", struct wait_span)
WAIT_CLOCK_SLEEP(clock_nanosleep, "clock_nanosleep", struct wait_span)

int hook_usleep(unsigned us) HOOK("usleep");
unsigned hook_sleep(unsigned seconds) HOOK("sleep");

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

WAIT_THREAD_SLEEP(thrd_sleep, "thrd_sleep", struct wait_span, hook_nanosleep)

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

/* ---- times of 64 bits, with words of 32: by the names of glibc and of musl ---- */

#if ARCH_TWO_TIMES

WAIT_SPAN(ppoll_64, "__ppoll64", struct wait_wide,
          (void *fds, unsigned long count, const struct wait_wide *limit, const void *mask),
          (fds, count, limit, mask))
WAIT_SPAN(ppoll_musl, "__ppoll_time64", struct wait_wide,
          (void *fds, unsigned long count, const struct wait_wide *limit, const void *mask),
          (fds, count, limit, mask))
WAIT_SPAN(ppoll_chk_64, "__ppoll64_chk", struct wait_wide,
          (void *fds, unsigned long count, const struct wait_wide *limit, const void *mask,
           size_t room),
          (fds, count, limit, mask, room))
WAIT_SPAN(pselect_64, "__pselect64", struct wait_wide,
          (int count, void *r, void *w, void *e, const struct wait_wide *limit, const void *mask),
          (count, r, w, e, limit, mask))
WAIT_SPAN(pselect_musl, "__pselect_time64", struct wait_wide,
          (int count, void *r, void *w, void *e, const struct wait_wide *limit, const void *mask),
          (count, r, w, e, limit, mask))
WAIT_SPAN(epoll_pwait2_64, "__epoll_pwait2_time64", struct wait_wide,
          (int fd, void *events, int room, const struct wait_wide *limit, const void *mask),
          (fd, events, room, limit, mask))
WAIT_SPAN(semtimedop_64, "__semtimedop64", struct wait_wide,
          (int id, void *operations, size_t count, const struct wait_wide *limit),
          (id, operations, count, limit))
WAIT_SPAN(semtimedop_musl, "__semtimedop_time64", struct wait_wide,
          (int id, void *operations, size_t count, const struct wait_wide *limit),
          (id, operations, count, limit))
WAIT_SPAN(sigtimedwait_64, "__sigtimedwait64", struct wait_wide,
          (const void *set, void *information, const struct wait_wide *limit),
          (set, information, limit))
WAIT_SPAN(sigtimedwait_musl, "__sigtimedwait_time64", struct wait_wide,
          (const void *set, void *information, const struct wait_wide *limit),
          (set, information, limit))
WAIT_SELECT(select_64, "__select64", struct wait_wide)
WAIT_SELECT(select_musl, "__select_time64", struct wait_wide)
WAIT_SLEEP(nanosleep_64, "__nanosleep64", struct wait_wide)
WAIT_SLEEP(nanosleep_musl, "__nanosleep_time64", struct wait_wide)
WAIT_CLOCK_SLEEP(clock_nanosleep_64, "__clock_nanosleep_time64", struct wait_wide)
WAIT_THREAD_SLEEP(thrd_sleep_64, "__thrd_sleep64", struct wait_wide, hook_nanosleep_64)
WAIT_THREAD_SLEEP(thrd_sleep_musl, "__thrd_sleep_time64", struct wait_wide, hook_nanosleep_musl)
SOCKET(int, recvmmsg_64, "__recvmmsg64", WAIT_RECEIVE, WAIT_IN,
       (int fd, void *messages, unsigned count, int flags, void *limit),
       (fd, messages, count, flags, limit))
SOCKET(int, recvmmsg_musl, "__recvmmsg_time64", WAIT_RECEIVE, WAIT_IN,
       (int fd, void *messages, unsigned count, int flags, void *limit),
       (fd, messages, count, flags, limit))
SOCKET(int, sendmmsg_64, "__sendmmsg64", WAIT_SEND, WAIT_OUT,
       (int fd, void *messages, unsigned count, int flags), (fd, messages, count, flags))

#endif
