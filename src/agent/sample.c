/* SPDX-License-Identifier: MIT */
#include "agent/sample.h"

#include "agent/pool.h"
#include "agent/record.h"
#include "agent/sys.h"
#include "agent/thin.h"
#include "book/era.h"
#include "ledger/weight.h"

#include "agent/guest.h"

uint8_t sample_filter[1u << SAMPLE_FILTER_BITS];

static void filter_change(uint64_t address, int by)
{
        uint8_t *place = sample_filter_place(address),
                old = __atomic_load_n(place, __ATOMIC_RELAXED);

        while (old != SAMPLE_FILTER_FULL &&
               !__atomic_compare_exchange_n(place, &old, (uint8_t)(old + by), false,
                                            __ATOMIC_RELAXED, __ATOMIC_RELAXED))
                ;
}

/* How many B stands for; 1 for one that was recorded before the ledger was thinned. */
static uint64_t weight(const struct ledger_block *b, uint64_t address)
{
        uint32_t birth = LEDGER_BLOCK_BIRTH_MS(*b);
        uint64_t mean = LEDGER_BLOCK_KIND(*b) == LEDGER_KIND_THINNED ? thin_mean(birth)
                                                                     : agent.sample;

        return mean ? weight_of(address, LEDGER_BLOCK_SIZE(*b), birth, mean) : 1;
}

static uint64_t throw(struct thread *t)
{
        t->random += 0x9e3779b97f4a7c16ull; /* even, so that it is never 0 again */
        return weight_mix(t->random);
}

static void throw_dice(struct thread *t, uint64_t mean)
{
        t->until_sample = weight_distance(throw(t), mean);
        t->sample_mean = mean;
}

/* The first throw, at the first allocation of the thread; the block may have come too early.  After
 * a step of thinning a point that was thrown before stays one with the chance that makes points as
 * rare as they are now; if not, the next one is that far behind it. */
static bool passes_after_all(struct thread *t, size_t size, uint64_t mean)
{
        uint64_t skipped = t->until_sample;

        if (t->sample_mean == mean)
                return false;
        if (!t->random)
                t->random = weight_mix(sys_clock_ns(SYS_CLOCK_MONO) ^ (uintptr_t)t) | 1;
        else if (throw(t) % mean < t->sample_mean)
                return false;
        throw_dice(t, mean);
        t->until_sample += skipped;
        return sample_passes(t, size);
}

void sample_alloc(struct thread *t, void *address, size_t size, uint32_t kind,
                  struct arch_state caller)
{
        struct thin_stage stage = thin_now();
        uint64_t at = (uintptr_t)address;
        struct record_site place;
        struct ledger_block *b, what;

        t->writer.last = 0;
        if (!stage.mean) { /* thinning is about to begin */
                record_any_alloc(t, address, size, kind, caller);
                return;
        }
        if (passes_after_all(t, size, stage.mean))
                return;
        throw_dice(t, stage.mean);
        size = (size_t)shadow_size(size);
        if (agent.head->thin_full) {
                __atomic_add_fetch(&agent.head->lost_events,
                                   weight_of(at, size, agent_now_ms(), stage.mean),
                                   __ATOMIC_RELAXED);
                return;
        }
        place = record_site(t, kind, caller.pc, caller.sp, caller.base);
        b = shadow_new(&agent_book, &t->writer, at);
        if (!place.counter || !b)
                return;
        thin_touch(b);
        if (stage.number && LEDGER_BLOCK_LIVE(*b))
                record_missed(t, b, at);
        if (stage.number)
                __atomic_add_fetch(&agent.head->thin_events, 1, __ATOMIC_RELAXED);
        what = shadow_block(at, size, stage.number ? LEDGER_KIND_THINNED : kind,
                            thin_birth(&stage));
        what.a |= place.site;
        shadow_write(&agent_book, &t->writer, b, what);
        filter_change(at, 1);
        count_add(&agent_book, &t->writer, place.counter,
                  (struct count_blocks){ .address = at, .size = size, .times = weight(&what, at) });
}

void sample_gone(struct thread *t, const struct ledger_block *b, uint64_t address)
{
        uint64_t times = weight(b, address);
        struct ledger_counter *c = thread_counter(t, LEDGER_BLOCK_SITE(*b));
        uint32_t now = agent_now_ms(), birth = LEDGER_BLOCK_BIRTH_MS(*b),
                 age = now > birth ? now - birth : 0;

        filter_change(address, -1);
        if (agent.special & SPECIAL_ERAS)
                era_death(&agent_book, b, times);
        if (c)
                count_remove(&agent_book, &t->writer, c,
                             (struct count_blocks){ address, LEDGER_BLOCK_SIZE(*b), times, age });
}

void sample_free(struct thread *t, void *address, uint32_t family, struct arch_state caller)
{
        struct ledger_block *b = NULL, gone;

        if (!thin_is_empty(t, (uintptr_t)address))
                b = shadow_find(&agent_book, &t->writer, (uintptr_t)address);
        if (!b || !LEDGER_BLOCK_LIVE(*b)) {
                t->writer.last = 0;
                return;
        }
        if (!LEDGER_BLOCK_SITE(*b)) { /* an allocator's own, from before the ledger was thinned */
                *b = (struct ledger_block){ 0 };
                return;
        }
        if (agent.special & SPECIAL_POOLS)
                pool_range_gone(t, (uintptr_t)address, (uintptr_t)address + LEDGER_BLOCK_SIZE(*b),
                                LEDGER_BLOCK_SITE(*b), caller);
        if (book_family(book_kind(&agent_book, b)) != family && fault_has_names())
                fault_note(t, LEDGER_ERROR_MISMATCHED, b, (uintptr_t)address, family, caller);
        gone = *b;
        shadow_bury(b, agent_now_ms());
        sample_gone(t, &gone, (uintptr_t)address);
}
