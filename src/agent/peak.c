/* SPDX-License-Identifier: MIT */
/*
 * peak.c -- the maximum of live bytes when several threads allocate.
 *
 * Room:   inside; any context.
 * Cost:   two atomic additions per batch.
 */
#include "agent/peak.h"

#include "agent/guest.h"

static int64_t batch_for(uint64_t peak, uint32_t slots)
{
        uint64_t share = peak / PEAK_BATCH_PART / slots;

        return share > PEAK_BATCH_MIN ? (int64_t)share : PEAK_BATCH_MIN;
}

/* What threads have not added yet may have made more than the maximum, if the common total LIVE came that near. */
static void note_error(uint64_t live, uint32_t slots)
{
        struct ledger_head *h = agent.head;
        uint64_t unseen = (uint64_t)h->batch * slots;

        if (live + unseen > h->peak_bytes && unseen > h->peak_error_bytes)
                h->peak_error_bytes = unseen;
}

void peak_thread_joined(void)
{
        struct ledger_head *h = agent.head;
        struct ledger_slot *first = agent_slot(0);
        uint32_t alone = 0;

        if (h->slot_count < 2 || !__atomic_compare_exchange_n(&h->joining, &alone, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
                return;
        /* The first thread goes on meanwhile; what it gains after this look it will add itself, as the difference to it. */
        first->flushed_bytes = first->alloc_bytes - first->free_bytes;
        first->flushed_blocks = first->allocs - first->frees;
        __atomic_add_fetch(&h->live_bytes, first->flushed_bytes, __ATOMIC_RELAXED);
        __atomic_add_fetch(&h->live_blocks, first->flushed_blocks, __ATOMIC_RELAXED);
        h->batch = batch_for(h->peak_bytes, 2);
        note_error(first->flushed_bytes, 2);
        __atomic_store_n(&h->several, 1, __ATOMIC_RELEASE);
        if (h->at_peak) {
                h->at_peak = 0;
                __atomic_add_fetch(&h->epoch, 1, __ATOMIC_RELAXED);
        }
}

static void take_peak(uint64_t live, uint64_t blocks)
{
        struct ledger_head *h = agent.head;
        uint64_t peak = __atomic_load_n(&h->peak_bytes, __ATOMIC_RELAXED);
        uint32_t slots = h->slot_count;

        while ((int64_t)(live - peak) > 0) {
                if (!__atomic_compare_exchange_n(&h->peak_bytes, &peak, live, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
                        continue;
                h->peak_blocks = blocks;
                h->peak_tick_ms = agent_now_ms();
                h->batch = batch_for(live, slots);
                h->peak_error_bytes = (uint64_t)h->batch * slots; /* of this maximum, not of earlier ones */
                __atomic_add_fetch(&h->epoch, 1, __ATOMIC_RELAXED);
                return;
        }
}

void peak_flush(struct thread *t)
{
        struct ledger_slot *s = t->slot;
        uint64_t bytes = s->alloc_bytes - s->free_bytes, blocks = s->allocs - s->frees, live, live_blocks;

        live = __atomic_add_fetch(&agent.head->live_bytes, bytes - s->flushed_bytes, __ATOMIC_RELAXED);
        live_blocks = __atomic_add_fetch(&agent.head->live_blocks, blocks - s->flushed_blocks, __ATOMIC_RELAXED);
        s->flushed_bytes = bytes;
        s->flushed_blocks = blocks;
        take_peak(live, live_blocks);
        note_error(live, agent.head->slot_count);
}
