/* SPDX-License-Identifier: MIT */
/*
 * sample.h -- record --sample: a few allocations are recorded, each for many (ledger/weight.h).
 *
 * Room:   inside; any context, with the thread THREAD_ACTIVE.
 * Keeps:  a block that was not taken leaves no trace, so that its release cannot be told from a wrong one: neither is a fault.
 * Cost:   an allocation that is not taken counts its bytes down; a release looks into a table of 64 KiB.
 */
#ifndef SEEP_AGENT_SAMPLE_H
#define SEEP_AGENT_SAMPLE_H

#include "agent/arch/arch.h"
#include "agent/thread.h"

void sample_alloc(struct thread *t, void *address, size_t size, uint32_t kind, struct arch_state caller);
void sample_free(struct thread *t, void *address, uint32_t family, struct arch_state caller);

/* Whether ADDRESS may be that of a block that was taken. */
bool sample_knows(uint64_t address);

/* Block B at ADDRESS, which was taken, is no more. */
void sample_gone(struct thread *t, const struct ledger_block *b, uint64_t address);

#endif
