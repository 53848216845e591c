/* SPDX-License-Identifier: MIT */
/*
 * fault.h -- releases that went wrong, with both stacks.
 *
 * Room:   inside; any context, with the thread THREAD_ACTIVE.
 */
#ifndef SEEP_AGENT_FAULT_H
#define SEEP_AGENT_FAULT_H

#include "agent/thread.h"

/* Count a fault of TYPE at ADDRESS; BLOCK is what is (or was last) known there, NULL nothing. */
void fault_note(struct thread *t, enum ledger_error_type type, const struct ledger_block *block, uint64_t address,
                uint32_t family, struct arch_state caller);

#endif
