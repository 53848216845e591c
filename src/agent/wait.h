/* SPDX-License-Identifier: MIT */
/*
 * wait.h -- a call that waits, and goes on when nothing but our own signal interrupted it.
 *
 * Room:   inside; included by the files that define such hooks.
 *
 * A signal of ours (a snapshot), or a stop for a leak search, must not be seen by a program that
 * waits in a system call.  Three layers, the first that can helps:
 *
 *   1. The kernel begins most calls again by itself (SA_RESTART; after a stop without a
 *      signal nearly all of them).
 *   2. Some give EINTR whatever we ask for: epoll_wait, semop, sigtimedwait, recv with a timeout,
 *      io_getevents, inotify.  Our handler (signal.c) and whoever stops us (attach/hold.c) see that
 *      in the registers and have the call made again, unless a signal of the program's own waits
 *      to be handled: then EINTR is what it wants to see.
 *   3. A call with a relative limit would wait its whole time once more.  Such a call has a
 *      hook.  While it waits, signal_wait.waiting is set; layer 2 leaves the call alone then,
 *      where it does not know the time that is left (attach/limits.h), and sets
 *      signal_wait.interrupted.  The hook sees EINTR and that mark, and makes the call
 *      again with the time that is left.
 *
 *     hook: waiting = 1, epoll_wait(5 s) -- our signal at 2 s -- handler: interrupted = 1 --
 *           EINTR -- epoll_wait(3 s) --> 0
 */
#ifndef SEEP_AGENT_WAIT_H
#define SEEP_AGENT_WAIT_H

#include <asm/socket.h>

#include "agent/agent.h"
#include "agent/real.h"
#include "agent/signal.h"
#include "agent/sys.h"

/* Run CALL, which gives RESULT; again, after AGAIN, as long as only our signal ended it
 * (FAILED says that it failed). */
#define RETRY(result, CALL, FAILED, AGAIN)                                     \
        do {                                                                   \
                int *error_ = agent.head && real.errno_location ? real.errno_location() : NULL; \
                int before_ = error_ ? *error_ : 0;                            \
                bool outer_ = signal_wait.waiting, retried_ = false;           \
                uint32_t arrivals_;                                            \
                                                                               \
                if (!error_) {                                                 \
                        result = CALL;                                         \
                        break;                                                 \
                }                                                              \
                signal_wait.waiting = true;                                    \
                for (;; retried_ = true) {                                     \
                        signal_wait.interrupted = false;                       \
                        arrivals_ = signal_arrivals;                           \
                        result = CALL;                                         \
                        if (!(FAILED) || !signal_only_ours(arrivals_))         \
                                break;                                         \
                        AGAIN;                                                 \
                }                                                              \
                signal_wait.waiting = outer_;                                  \
                if (retried_ && !(FAILED) && *error_ == SYS_EINTR)             \
                        *error_ = before_;                                     \
        } while (0)

#define EINTR_FAILED(result) ((result) == -1 && *real.errno_location() == SYS_EINTR)

/* ---- sockets with a limit of their own (SO_RCVTIMEO, SO_SNDTIMEO) ---- */

enum { WAIT_RECEIVE = SO_RCVTIMEO_OLD, WAIT_SEND = SO_SNDTIMEO_OLD, WAIT_IN = 1, WAIT_OUT = 4 };

static inline uint32_t wait_begin(void)
{
        return agent.head ? agent_now_ms() : 0;
}

/* Wait until FD is ready for EVENTS for what is left of its limit OPTION, counted from
 * BEGIN_MS of our clock.  False: the time is over, or another signal came; errno tells,
 * as after the call itself. */
bool wait_socket(int fd, int option, short events, uint32_t begin_ms);

#endif
