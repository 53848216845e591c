/* SPDX-License-Identifier: MIT */
/*
 * peak.h -- the exact maximum of live bytes and what it was made of, in constant time per event.
 *
 * Room:   inside; any context.
 * Keeps:  a counter that is about to change and has not done so since the last maximum first saves itself, so at any time
 *         "saved if of the current epoch, live otherwise" is the composition of the maximum (ledger_counter).
 *
 * One thread: every allocation is compared with the maximum.  While nothing is freed after a new maximum (`at_peak`), live
 * numbers are the maximum's, and nothing needs saving: a growing heap costs one compare and three stores.
 *
 * Several threads: each may gain its share of the room below the maximum before it must compare again (peak_compare sums
 * all slots), so a heap that stays below its maximum is never summed.  A share has a floor (PEAK_BATCH): the maximum found
 * may be too small by that much per thread, which head->peak_error_bytes tells.
 */
#ifndef SEEP_AGENT_PEAK_H
#define SEEP_AGENT_PEAK_H

#include "agent/thread.h"

#define PEAK_BATCH_MIN 1024
#define PEAK_BATCH_PART 1024 /* ... or this fraction of the peak, over all threads */

/* A second slot is in use: from now on totals are compared in batches. */
void peak_thread_joined(void);

/* Sum all slots, take a new maximum if there is one, give T its next headroom. */
void peak_compare(struct thread *t);

static inline void peak_save(struct ledger_counter *c, uint32_t epoch)
{
        c->peak_bytes = (int64_t)(c->alloc_bytes - c->free_bytes);
        c->peak_blocks = (int32_t)(c->allocs - c->frees);
        c->epoch = epoch;
}

/* Before counter C grows by an allocation. */
static inline void peak_before_alloc(struct ledger_counter *c)
{
        struct ledger_head *h = agent.head;
        uint32_t epoch = __atomic_load_n(&h->epoch, __ATOMIC_RELAXED);

        if (c->epoch != epoch && !h->at_peak)
                peak_save(c, epoch);
}

/* After the slot's totals include an allocation of SIZE bytes. */
static inline void peak_after_alloc(struct thread *t, uint64_t size)
{
        struct ledger_head *h = agent.head;
        const struct ledger_slot *s = t->slot;
        uint64_t live;

        if (unlikely(h->several)) {
                t->rise += (int64_t)size;
                if (t->rise > t->headroom)
                        peak_compare(t);
                return;
        }
        live = s->alloc_bytes - s->free_bytes;
        if (live > h->peak_bytes || h->at_peak) {
                h->peak_bytes = live;
                h->peak_blocks = s->allocs - s->frees;
                h->peak_tick_ms = agent_now_ms();
                h->at_peak = 1;
        }
}

/* Before counter C shrinks by a release of SIZE bytes. */
static inline void peak_before_free(struct thread *t, struct ledger_counter *c, uint64_t size)
{
        struct ledger_head *h = agent.head;
        uint32_t epoch;

        t->rise -= (int64_t)size;
        if (h->at_peak) {
                h->at_peak = 0;
                __atomic_store_n(&h->epoch, h->epoch + 1, __ATOMIC_RELAXED);
        }
        epoch = __atomic_load_n(&h->epoch, __ATOMIC_RELAXED);
        if (c->epoch != epoch)
                peak_save(c, epoch);
}

#endif
