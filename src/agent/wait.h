/* SPDX-License-Identifier: MIT */
/*
 * wait.h -- a call that waits, and goes on when nothing but our own signal interrupted it.
 *
 * Room:   inside; included by the files that define such hooks.
 */
#ifndef SEEP_AGENT_WAIT_H
#define SEEP_AGENT_WAIT_H

#include "agent/agent.h"
#include "agent/real.h"
#include "agent/signal.h"
#include "agent/sys.h"

/* Run CALL, which gives RESULT; again, after AGAIN, as long as only our signal ended it (FAILED says that it failed). */
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

enum { WAIT_RECEIVE = 20, WAIT_SEND = 21, WAIT_IN = 1, WAIT_OUT = 4 };

static inline uint32_t wait_begin(void)
{
        return agent.head ? agent_now_ms() : 0;
}

/* Wait until FD is ready for EVENTS for what is left of its limit OPTION, counted from BEGIN_MS of our clock.  False: the time is over, or
 * another signal came; errno tells, as after the call itself. */
bool wait_socket(int fd, int option, short events, uint32_t begin_ms);

#endif
