/* SPDX-License-Identifier: MIT */
#include "agent/pool.h"

#include "agent/limit.h"
#include "agent/record.h"

#include "agent/guest.h"

#define ARENA_BYTES_MAX (1ull << 30) /* an arena is looked for that far back */
#define NEAR_BYTES (64ull << 10)     /* ... or that far, where nothing was found so many times: */
#define VAIN_MOST 100u

struct arena {
        uint64_t start, end;
        uint32_t site; /* 0: the block lies in no other */
};

/* ---- the arena around a block ---- */

/* Does the live block of entry B, whose granule begins at GRANULE, hold ADDRESS? */
static bool holds(const struct ledger_block *b, uint64_t granule, uint64_t address,
                  struct arena *out)
{
        uint64_t start = granule + LEDGER_BLOCK_SUB(*b) * 8u;

        if (!LEDGER_BLOCK_LIVE(*b) || !LEDGER_BLOCK_SITE(*b) || start > address ||
            start + LEDGER_BLOCK_SIZE(*b) <= address)
                return false;
        *out = (struct arena){ start, start + LEDGER_BLOCK_SIZE(*b), LEDGER_BLOCK_SITE(*b) };
        return true;
}

static bool search_plane(uint32_t plane, uint64_t address, uint64_t reach, struct arena *out)
{
        uint64_t granule = address & ~(LEDGER_SHADOW_GRANULE - 1),
                 low = address > reach ? address - reach : 0;

        while (granule > low) {
                const struct ledger_block *b = shadow_entry(&agent_book, granule, plane);

                if (!b) { /* nothing in this chunk */
                        granule &= ~(LEDGER_SHADOW_SPAN - 1);
                        granule -= granule ? LEDGER_SHADOW_GRANULE : 0;
                        continue;
                }
                if (holds(b, granule, address, out))
                        return true;
                if (plane == 0 && LEDGER_BLOCK_LIVE(*b) &&
                    granule + LEDGER_BLOCK_SUB(*b) * 8u <= address)
                        return false; /* blocks do not overlap: none further back reaches here */
                granule -= LEDGER_SHADOW_GRANULE;
        }
        return false;
}

static bool still_there(struct thread *t, const struct arena *a, uint64_t address)
{
        const struct ledger_block *b = a->site && address >= a->start && address < a->end
                                               ? shadow_find(&agent_book, &t->writer, a->start)
                                               : NULL;

        return b && LEDGER_BLOCK_LIVE(*b) && LEDGER_BLOCK_SITE(*b) == a->site &&
               a->start + LEDGER_BLOCK_SIZE(*b) == a->end;
}

static struct arena find_arena(struct thread *t, uint64_t address, uint64_t reach)
{
        static OWN_THREAD struct arena last OWN_MODEL;
        struct arena found = { 0, 0, 0 };

        if (still_there(t, &last, address))
                return last;
        if (!agent_book.spread)
                search_plane(0, address, reach, &found);
        for (uint32_t plane = 1; agent_book.spread && plane < SHADOW_POOL && !found.site; plane++)
                search_plane(plane, address, reach, &found);
        if (found.site)
                last = found;
        return found;
}

struct pool_block pool_around(struct thread *t, uint64_t address)
{
        /* Asked for each release of memory that we do not know.  A program that has a way to
         * allocate past us makes a great many of these. */
        static uint32_t vain;
        bool near = __atomic_load_n(&vain, __ATOMIC_RELAXED) >= VAIN_MOST;
        struct arena a = find_arena(t, address, near ? NEAR_BYTES : ARENA_BYTES_MAX);

        if (!a.site && !near)
                __atomic_add_fetch(&vain, 1, __ATOMIC_RELAXED);
        return (struct pool_block){ a.start, a.end - a.start, a.site };
}

/* ---- counting ---- */

/* BYTES of the arena are its own no more (or again, when negative). */
static void carve(struct thread *t, const struct arena *a, int64_t bytes)
{
        struct ledger_counter *c = a->site ? thread_counter(t, a->site) : NULL;

        if (!c)
                return;
        ring_put(t, LEDGER_EVENT_CARVE, 0, a->site, a->start, (uint64_t)bytes);
        count_carve(&agent_book, &t->writer, c, bytes);
}

static void release(struct thread *t, struct ledger_block *b, uint64_t address,
                    const struct arena *a, struct arch_state caller)
{
        struct ledger_block gone = *b;

        ring_put(t, LEDGER_EVENT_FREE, LEDGER_KIND_POOL, 0, address, caller.pc);
        shadow_bury(b, agent_now_ms());
        record_gone(t, &gone, address);
        carve(t, a, -(int64_t)LEDGER_BLOCK_SIZE(gone));
        peak_after_alloc(&agent_book, &t->writer);
}

static struct ledger_block *pool_entry(uint64_t address)
{
        struct ledger_block *b = shadow_pool_entry(&agent_book, address);

        return b && b->b ? b : NULL;
}

void pool_alloc(struct thread *t, uint64_t address, size_t size, struct arch_state caller)
{
        struct ledger_block *b, what;
        struct record_site at = { NULL, 0 };
        struct arena a;

        if (!address || (agent.special & (SPECIAL_OFF | SPECIAL_SAMPLE)))
                return;
        size = (size_t)shadow_size(size);
        a = find_arena(t, address, ARENA_BYTES_MAX);
        b = pool_entry(address);
        if (b && LEDGER_BLOCK_LIVE(*b))
                release(t, b, address, &a, caller); /* handed out again without having come back */
        __atomic_or_fetch(&agent.special, SPECIAL_POOLS, __ATOMIC_RELAXED);
        b = shadow_make(&agent_book, address, shadow_pool_plane(address));
        if (b)
                at = record_site(t, LEDGER_KIND_POOL, caller.pc, caller.sp, caller.base);
        if (!at.counter)
                return;
        carve(t, &a, (int64_t)size);
        what = shadow_block(address, size, LEDGER_KIND_POOL, agent_now_ms());
        what.a |= at.site;
        shadow_write(&agent_book, &t->writer, b, what);
        /* Never temporary. */
        count_add(&agent_book, &t->writer, at.counter,
                  (struct count_blocks){ .size = size, .times = 1 });
        ring_put(t, LEDGER_EVENT_ALLOC, LEDGER_KIND_POOL, (uint32_t)at.site, address, size);
        if (agent.special & SPECIAL_LIMIT)
                limit_check(t);
}

void pool_free(struct thread *t, uint64_t address, struct arch_state caller)
{
        struct ledger_block *b;
        struct arena a;

        if (!address)
                return;
        b = pool_entry(address);
        if (!b || !LEDGER_BLOCK_LIVE(*b)) {
                if (b) /* one that was never told of may be from before recording was on */
                        fault_note(t, LEDGER_ERROR_DOUBLE_FREE, b, address, LEDGER_FAMILY_POOL,
                                   caller);
                return;
        }
        a = find_arena(t, address, ARENA_BYTES_MAX);
        release(t, b, address, &a, caller);
}

/* Those of one plane: LOW is where its blocks start in a granule. */
static void plane_range_gone(struct thread *t, const struct arena *a, uint32_t low,
                             struct arch_state caller)
{
        for (uint64_t at = a->start & ~(LEDGER_SHADOW_GRANULE - 1); at < a->end;) {
                uint64_t address = at + low;
                struct ledger_block *inner = shadow_pool_entry(&agent_book, address);

                if (!inner) {
                        at = (at & ~(LEDGER_SHADOW_SPAN - 1)) + LEDGER_SHADOW_SPAN;
                        continue;
                }
                if (LEDGER_BLOCK_LIVE(*inner) && address >= a->start && address < a->end)
                        release(t, inner, address, a, caller);
                at += LEDGER_SHADOW_GRANULE;
        }
}

void pool_range_gone(struct thread *t, uint64_t start, uint64_t end, uint32_t site,
                     struct arch_state caller)
{
        struct arena a = { start, end, site };

        for (uint32_t low = 0; low < LEDGER_SHADOW_GRANULE; low++)
                if (shadow_pool_used(&agent_book, shadow_pool_plane(low)))
                        plane_range_gone(t, &a, low, caller);
}
