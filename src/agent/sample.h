/* SPDX-License-Identifier: MIT */
/*
 * sample.h -- record --sample: a few allocations are recorded, each for many (ledger/weight.h).
 *
 * Room:   inside; any context, with the thread THREAD_ACTIVE.
 * Keeps:  a block that was not taken leaves no trace, so that its release cannot be told from a
 *         wrong one: neither is a fault.
 * Cost:   an allocation that is not taken counts its bytes down; a release looks into a table of 64
 *         KiB.
 */
#ifndef SEEP_AGENT_SAMPLE_H
#define SEEP_AGENT_SAMPLE_H

#include "agent/arch/arch.h"
#include "agent/thread.h"

#define SAMPLE_FILTER_BITS 16

#define SAMPLE_FILTER_FULL 255u /* stays so */

/* How many live blocks that were taken have an address with this hash. */
extern uint8_t sample_filter[1u << SAMPLE_FILTER_BITS];

static inline uint8_t *sample_filter_place(uint64_t address)
{
        return &sample_filter[(address >> 3) * 0x9e3779b97f4a7c15ull >> (64 - SAMPLE_FILTER_BITS)];
}

/* Whether ADDRESS may be that of a block that was taken. */
static inline bool sample_knows(uint64_t address)
{
        return __atomic_load_n(sample_filter_place(address), __ATOMIC_RELAXED);
}

/* Whether no sample point lies in the next SIZE bytes, which are counted then. */
static inline bool sample_passes(struct thread *t, size_t size)
{
        uint64_t bytes = size ? size : 1;

        if (unlikely(t->until_sample < bytes))
                return false;
        t->until_sample -= bytes;
        t->writer.last = 0;
        return true;
}

/* One lies in the SIZE bytes at ADDRESS, or the dice have not been thrown yet. */
void sample_alloc(struct thread *t, void *address, size_t size, uint32_t kind,
                  struct arch_state caller);

/* ADDRESS may be known. */
void sample_free(struct thread *t, void *address, uint32_t family, struct arch_state caller);

/* Block B at ADDRESS, which was taken, is no more. */
void sample_gone(struct thread *t, const struct ledger_block *b, uint64_t address);

#endif
