/* SPDX-License-Identifier: MIT */
/*
 * signal.h -- the signal that asks for a snapshot, and the system calls that it must not disturb.
 *
 * Room:   inside; the handler runs in whatever thread the kernel chose.
 * Keeps:  the program sees the signal at its default and no call of its own fail with EINTR because
 *         of us.  A handler of the program's own takes our place.
 *
 * A call without a time limit (or with an absolute one) is begun again by the handler.  A call with
 * a relative limit needs to know when it began: those are hooked (hooks_wait.c), and begin again
 * there with what is left.
 */
#ifndef SEEP_AGENT_SIGNAL_H
#define SEEP_AGENT_SIGNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/own.h"
#include "ledger/ledger.h"

/* Take the signal if it is at its default. */
void signal_start(void);

/* Whether NUMBER is the signal that we use, or would use if the program had no handler for it. */
bool signal_is_ours(int number);

/* The program has a handler of its own now; the program wants the default again. */
void signal_given_up(void);
void signal_taken_back(void);

/* In a forked child that is not recorded: as if we had never been there. */
void signal_forked(void);

/* End the program by SIGABRT, whatever it does about it. */
void signal_abort(void);

extern uint32_t signal_arrivals; /* how often our signal came, in whatever thread */
extern bool signal_program_handles; /* the program has had a handler for some signal */

/* A call of this thread failed with EINTR; ARRIVALS when it began.  Whether only our signal can be
 * the cause: it came here, or the kernel woke this thread for it and another took it (which can be
 * told only while the program handles no signal at all). */
bool signal_only_ours(uint32_t arrivals);

/* The calling thread waits in a hook of hooks_wait.c, and was interrupted by our signal (or a
 * search for leaks) and nothing else. */
extern OWN_THREAD struct ledger_wait signal_wait OWN_MODEL;

#endif
