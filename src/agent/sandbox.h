/* SPDX-License-Identifier: MIT */
/*
 * sandbox.h -- filters of system calls (seccomp): which calls of ours the program's would let pass.
 *
 * Room:   inside; any context.
 * Keeps:  a filter that objects may kill the program, or call a handler of its own: every system
 *         call of the agent is first judged here (sys.h), by the filters themselves, with its
 *         arguments.  One that is not let through fails with EPERM, as far as the agent can see.
 *         What filters hold is known from the calls that load them, which are hooked, and at the
 *         start from the kernel (/proc/self/status) and from whoever started us (wire/filters.h).
 *         One that nobody saw stops all calls.
 *         A filter of one thread is taken for one of all.
 */
#ifndef SEEP_AGENT_SANDBOX_H
#define SEEP_AGENT_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/filters.h"

#define SANDBOX_UNKNOWN (-1) /* a filter that cannot be judged by: the strict mode,
                              * or one that is too large */
#define SANDBOX_NONE (-2)    /* none: the program only asks whether there could be one */

/* The start: nothing but what the loader itself just did is allowed until it is known what
 * holds. */
void sandbox_begin(void);

/* Nobody invited us, but the user wants the program recorded: true unless it has a filter that its
 * surroundings do not have. */
bool sandbox_is_common(void);

/* What is known of the filters that were there at the start: file NUMBER in the directory of
 * SOCKET.  KNOWN: there is one.  False: there are filters of which nothing is known, and no
 * call is to be made any more. */
bool sandbox_learn(const char *socket, bool known, uint32_t number);

/* An agent that is written into a process runs its start and its end in a thread for which no
 * filter holds.  DEPTH filters hold for all others, as the kernel counts them; the instructions of
 * COUNT are in sandbox_code, SIZES of each.  False: there are too many.  They are heeded from
 * sandbox_heed() to sandbox_lift(). */
extern struct wire_instruction sandbox_code[WIRE_FILTERS_ROOM];
bool sandbox_told(uint32_t depth, const uint32_t *sizes, uint32_t count);
void sandbox_heed(void);
void sandbox_lift(void);

/* WORD tells how many filters the observer has seen; NULL: not now. */
void sandbox_watch(const volatile uint32_t *word);

/* The program is about to load a filter, in the kernel's form (struct sock_fprog), or
 * to enter the strict mode (NULL).  The result is for sandbox_entered(), when it is
 * known whether that worked. */
int sandbox_enter(const void *program);
void sandbox_entered(int filter, bool good);

/* Whether a program that is started under the filters that hold now could be recorded. */
bool sandbox_lets_begin(void);

#endif
