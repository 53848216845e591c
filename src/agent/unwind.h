/* SPDX-License-Identifier: MIT */
/*
 * unwind.h -- a full unwind with all registers, straight from the unwind tables.
 *
 * Room:   inside; any context.  For frames that rules cannot express, and as the reference in test
 *         mode.
 */
#ifndef SEEP_AGENT_UNWIND_H
#define SEEP_AGENT_UNWIND_H

#include "agent/thread.h"

/* Unwind from here out, through the agent's own frames, to CALLER and on to the end.  CALLER and
 * the frames outside of it are put into t->fresh, innermost first; returns how many (0: CALLER was
 * not met).  *CUT: the outer end was not reached. */
uint32_t unwind_full(struct thread *t, struct arch_state caller, bool *cut);

/* Whether OUTER lies further out on the stack of SP, near its end.  That a stack without tables
 * ends is known by how near that is: a hook may still be on the way. */
bool unwind_leads_to(uint64_t sp, uint64_t outer);

/* Whether PC is in the agent's own code. */
bool unwind_is_agent(uint64_t pc);

#endif
