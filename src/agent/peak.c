/* SPDX-License-Identifier: MIT */
/*
 * peak.c -- the maximum of live bytes when several threads allocate.
 *
 * Room:   inside; any context.
 * Cost:   one load per slot and comparison; below the peak a thread compares once per share of the room left.
 */
#include "agent/peak.h"

#include "agent/guest.h"

void peak_thread_joined(void)
{
        struct ledger_head *h = agent.head;

        if (h->several || h->slot_count < 2)
                return;
        /* The first thread may be between two words of an event: an error of one block, inside the printed bound. */
        h->several = 1;
        if (h->at_peak) {
                h->at_peak = 0;
                __atomic_add_fetch(&h->epoch, 1, __ATOMIC_RELAXED);
        }
}

static int64_t peak_batch(uint64_t peak, uint32_t slots)
{
        uint64_t share = peak / PEAK_BATCH_PART / slots;

        return share > PEAK_BATCH_MIN ? (int64_t)share : PEAK_BATCH_MIN;
}

void peak_compare(struct thread *t)
{
        struct ledger_head *h = agent.head;
        uint32_t slots = __atomic_load_n(&h->slot_count, __ATOMIC_ACQUIRE);
        uint64_t peak = __atomic_load_n(&h->peak_bytes, __ATOMIC_RELAXED), live = 0, blocks = 0;
        int64_t room, batch = peak_batch(peak, slots);

        for (uint32_t i = 0; i < slots; i++) {
                const struct ledger_slot *s = agent_slot(i);

                live += s->alloc_bytes - s->free_bytes;
                blocks += s->allocs - s->frees;
        }
        t->rise = 0;
        room = (int64_t)(peak - live);
        t->headroom = room / (int64_t)slots > batch ? room / (int64_t)slots : batch;
        while ((int64_t)(live - peak) > 0)
                if (__atomic_compare_exchange_n(&h->peak_bytes, &peak, live, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
                        h->peak_blocks = blocks;
                        h->peak_tick_ms = agent_now_ms();
                        h->peak_error_bytes = (uint64_t)batch * slots;
                        __atomic_add_fetch(&h->epoch, 1, __ATOMIC_RELAXED);
                        return;
                }
}
