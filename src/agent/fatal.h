/* SPDX-License-Identifier: MIT */
/*
 * fatal.h -- signals that end the program: what it lost is searched for before they do.
 *
 * Room:   inside; the handler runs in whatever thread the kernel chose.
 * Keeps:  only signals that the program leaves at their default are taken, and as such it sees
 *         them.  The kernel is asked what is ours, so ways to change a disposition that we do not
 *         see do no harm.  After the search the same signal comes again, with the same information
 *         and at the same instruction, and does what it does without us: status, core file and
 *         debuggers see no difference.
 *
 * A handler that is to be called once (SA_RESETHAND) leaves its signal at the default: a function
 * of ours comes before it, which takes the signal and ends in a jump, so that the handler has the
 * frame that it would have had.
 *
 * A stack that overflowed has no room for a handler: each thread has a stack for that as long as
 * the program uses no such stacks itself.  Handlers of the program must not run there: until it has
 * a stack of its own, they are installed without SA_ONSTACK.  It may set that stack by a system
 * call that nobody sees, as Go's runtime does.
 */
#ifndef SEEP_AGENT_FATAL_H
#define SEEP_AGENT_FATAL_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/thread.h"

/* stack_t, in the kernel and every C library alike. */
struct fatal_stack {
        arch_word base;
        int32_t flags;
        arch_word size;
};

/* Take the signals that are at their default. */
void fatal_start(void);

/* In a forked child: one that is recorded has not been told to die; from another one all is taken
 * away. */
void fatal_adopted(void);
void fatal_forked(void);

/* The program is about to forbid itself system calls. */
void fatal_withdraw(void);

/* ---- for hooks_signal.c ---- */

/* Whether any of this is in use. */
bool fatal_on(void);

/* Whether HANDLER is ours, which the program takes for the default. */
bool fatal_is_ours(const void *handler);

/* Whether HANDLER stands for one of the program's that is to be called once (SA_RESETHAND), and the
 * action that the program has set. */
bool fatal_is_once(const void *handler);
const void *fatal_once(int number);

/* Whether the program's handler of signal NUMBER was installed without the SA_ONSTACK that it
 * wants, and whether a new one must be. */
bool fatal_is_stripped(int number);
bool fatal_strips(const void *handler);

/* The action that the program believes to be that of NUMBER, whose handler is ours. */
void fatal_describe(int number, void *libc_action);

/* The action of NUMBER has been set to HANDLER. */
void fatal_changed(int number, const void *handler, bool stripped);

/* The program has set (WANTED) and asked for (OLD) its stack for signals; either may be NULL. */
void fatal_stack_changed(const struct fatal_stack *wanted, struct fatal_stack *old);

#endif
