/* SPDX-License-Identifier: MIT */
/*
 * fault.h -- releases that went wrong, with both stacks.
 *
 * Room:   inside; any context, with the thread THREAD_ACTIVE.
 */
#ifndef SEEP_AGENT_FAULT_H
#define SEEP_AGENT_FAULT_H

#include "agent/thread.h"

struct book_release; /* book/error.h */

/* Get what is needed while it can be had: system calls may be forbidden from now on. */
void fault_prepare(void);

/* Count a fault of TYPE at ADDRESS; BLOCK is what is (or was last) known there, NULL nothing. */
void fault_note(struct thread *t, enum ledger_error_type type, const struct ledger_block *block,
                uint64_t address, uint32_t family, struct arch_state caller);

/* ADDRESS is released and is no live block; BLOCK is what was known there last, NULL
 * nothing.  True: pass it on, because the program is not to be changed, or because the
 * allocator may know it better. */
bool fault_release(struct thread *t, const struct ledger_block *block, uint64_t address,
                   uint32_t family, struct arch_state caller);

/* Whether it is known by which function something is released. */
bool fault_has_names(void);

/* The live BLOCK at ADDRESS may not be released by R: note what does not fit, if anything. */
void fault_mismatch(struct thread *t, const struct ledger_block *block, uint64_t address,
                    const struct book_release *r, struct arch_state caller);

#endif
