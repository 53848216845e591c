/* SPDX-License-Identifier: MIT */
/*
 * sample.c -- record --sample: a few allocations are recorded, each for many.
 *
 * Room:   inside; any context, with the thread THREAD_ACTIVE.
 */
#include "agent/sample.h"

#include "agent/record.h"
#include "agent/sys.h"
#include "ledger/weight.h"

#include "agent/guest.h"

#define FILTER_FULL 255u /* stays so */

uint8_t sample_filter[1u << SAMPLE_FILTER_BITS];

static void filter_change(uint64_t address, int by)
{
        uint8_t *place = sample_filter_place(address), old = __atomic_load_n(place, __ATOMIC_RELAXED);

        while (old != FILTER_FULL && !__atomic_compare_exchange_n(place, &old, (uint8_t)(old + by), false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
                ;
}

static uint64_t weight(const struct ledger_block *b, uint64_t address)
{
        return weight_of(address, LEDGER_BLOCK_SIZE(*b), LEDGER_BLOCK_BIRTH_MS(*b), agent.sample);
}

static void throw_dice(struct thread *t)
{
        t->random += 0x9e3779b97f4a7c16ull; /* even, so that it is never 0 again */
        t->until_sample = weight_distance(weight_mix(t->random), agent.sample);
}

/* The first throw, at the first allocation of the thread; the block may have come too early. */
static bool passes_first(struct thread *t, size_t size)
{
        if (t->random)
                return false;
        t->random = weight_mix(sys_clock_ns(SYS_CLOCK_MONO) ^ (uint64_t)t) | 1;
        throw_dice(t);
        return sample_passes(t, size);
}

void sample_alloc(struct thread *t, void *address, size_t size, uint32_t kind, struct arch_state caller)
{
        uint64_t at = (uint64_t)address, times;
        struct ledger_counter *c;
        struct ledger_block *b;

        t->last = 0;
        if (passes_first(t, size))
                return;
        throw_dice(t);
        if (size > LEDGER_SIZE_MAX)
                size = LEDGER_SIZE_MAX;
        c = record_counter(t, kind, 0, caller);
        b = shadow_new(t, at);
        if (!c || !b)
                return;
        peak_before_alloc(c);
        shadow_write(t, b, shadow_block(at, size, kind, agent_now_ms()));
        times = weight(b, at);
        filter_change(at, 1);
        c->allocs += times;
        c->alloc_bytes += times * size;
        t->slot->allocs += times;
        t->slot->alloc_bytes += times * size;
        t->slot->sizes[record_class(size)] += times;
        peak_after_alloc(t);
        t->last = at;
}

void sample_gone(struct thread *t, const struct ledger_block *b, uint64_t address)
{
        uint64_t times = weight(b, address), bytes = times * LEDGER_BLOCK_SIZE(*b);
        struct ledger_counter *c = thread_counter(t, LEDGER_BLOCK_SITE(*b));
        uint32_t age = agent_now_ms() - LEDGER_BLOCK_BIRTH_MS(*b);

        filter_change(address, -1);
        if (agent.special & SPECIAL_ERAS)
                death_note(LEDGER_BLOCK_SITE(*b), LEDGER_BLOCK_BIRTH_MS(*b), times, bytes);
        if (!c)
                return;
        peak_before_free(c);
        c->frees += times;
        c->free_bytes += bytes;
        c->lifetime_ms += age * times;
        c->temporary += t->last == address ? times : 0;
        t->last = 0;
        t->slot->lifetimes[record_class(age)] += times;
        t->slot->frees += times;
        t->slot->free_bytes += bytes;
        peak_after_free(t);
}

void sample_free(struct thread *t, void *address, uint32_t family, struct arch_state caller)
{
        struct ledger_block *b = shadow_find(t, (uint64_t)address), gone;

        if (!b || !LEDGER_BLOCK_LIVE(*b)) {
                t->last = 0;
                return;
        }
        if (record_family(LEDGER_BLOCK_KIND(*b)) != family)
                fault_note(t, LEDGER_ERROR_MISMATCHED, b, (uint64_t)address, family, caller);
        gone = *b;
        shadow_bury(b, agent_now_ms());
        sample_gone(t, &gone, (uint64_t)address);
}
