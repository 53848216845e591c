/* SPDX-License-Identifier: MIT */
/* shadow.c -- address to live block: the parts that are not on the fast path. */
#include "agent/shadow.h"

#include "agent/arena.h"
#include "agent/sys.h"

#include "agent/guest.h"

shadow_top shadow_plain, *shadow_planes[LEDGER_PLANES];
static shadow_middle nothing; /* where a top has no middle */

static void top_fill(shadow_top *top)
{
        for (uint32_t i = 0; i < 1u << SHADOW_TOP_BITS; i++)
                (*top)[i] = &nothing;
}

/* The top of PLANE; NULL: there is none, and no memory for it. */
static shadow_top *top_make(uint32_t plane)
{
        shadow_top *top = __atomic_load_n(&shadow_planes[plane], __ATOMIC_ACQUIRE), *fresh;

        if (top)
                return top;
        fresh = arena_private(sizeof *fresh);
        if (!fresh)
                return NULL;
        top_fill(fresh);
        if (__atomic_compare_exchange_n(&shadow_planes[plane], &top, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
                return fresh;
        arena_private_free(fresh, sizeof *fresh);
        return top;
}

bool shadow_start(void)
{
        bool good = true;

        top_fill(&shadow_plain);
        shadow_planes[0] = &shadow_plain;
        for (uint32_t plane = 1; good && agent.spread && plane < LEDGER_PLANE_POOL; plane++)
                good = top_make(plane);
        return good;
}

static shadow_middle *middle_make(uint32_t plane, uint32_t i)
{
        shadow_top *top = top_make(plane);
        shadow_middle *m = top ? __atomic_load_n(&(*top)[i], __ATOMIC_ACQUIRE) : NULL, *fresh;

        if (m != &nothing)
                return m;
        fresh = arena_private(sizeof *fresh);
        if (!fresh)
                return NULL;
        if (__atomic_compare_exchange_n(&(*top)[i], &m, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
                return fresh;
        arena_private_free(fresh, sizeof *fresh);
        return m;
}

static struct ledger_block *chunk_make(uint64_t address, uint32_t plane)
{
        uint32_t number = __atomic_fetch_add(&agent.head->shadow_chunk_count, 1, __ATOMIC_RELAXED);
        struct ledger_chunk *c;

        if (!arena_commit(LEDGER_SHADOW, (number + 1ull) * LEDGER_SHADOW_CHUNK_BYTES) ||
            !arena_commit(LEDGER_CHUNKS, (number + 1ull) * sizeof *c)) {
                __atomic_fetch_sub(&agent.head->shadow_chunk_count, 1, __ATOMIC_RELAXED);
                return NULL;
        }
        c = (struct ledger_chunk *)arena_at(LEDGER_CHUNKS) + number;
        c->base = address & ~(LEDGER_SHADOW_SPAN - 1);
        c->plane = plane;
        __atomic_store_n(&c->ready, 1, __ATOMIC_RELEASE);
        return (struct ledger_block *)(agent.shadow + number * LEDGER_SHADOW_CHUNK_BYTES);
}

struct ledger_block *shadow_make(uint64_t address, uint32_t plane)
{
        shadow_middle *m;
        struct ledger_block **place, *none = NULL, *chunk;

        if (address >> 47 || (address & 7) != LEDGER_PLANE_LOW(plane)) {
                __atomic_add_fetch(&agent.head->untracked_blocks, 1, __ATOMIC_RELAXED);
                return NULL;
        }
        m = middle_make(plane, (uint32_t)(address >> 34));
        if (!m) {
                thin_end(LEDGER_STOP_NO_MEMORY);
                return NULL;
        }
        place = &(*m)[address >> 22 & ((1u << SHADOW_MIDDLE_BITS) - 1)];
        if (!__atomic_load_n(place, __ATOMIC_ACQUIRE)) {
                chunk = chunk_make(address, plane);
                if (!chunk) {
                        thin_end(LEDGER_STOP_SHADOW_FULL);
                        return NULL;
                }
                /* Whoever loses this race leaves an empty chunk behind, which no one reads anything from. */
                __atomic_compare_exchange_n(place, &none, chunk, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
        }
        return shadow_entry(address, plane);
}

/* ---- the observer takes shadow away ---- */

#define KEEP_LOOKS (1u << 22)
#define KEEP_YIELDS 1000u
#define KEEP_WAITS 200u /* of 10 ms */

static bool is_taken(const uint32_t *state)
{
        return __atomic_load_n(state, __ATOMIC_ACQUIRE) == LEDGER_RECLAIM_TAKEN;
}

/* The observer is just about to punch a hole, which takes some microseconds.  Where it has no end the observer is gone. */
static void await(uint32_t *state)
{
        static const uint64_t step[2] = { 0, 10000000 };

        for (uint32_t i = 0; is_taken(state) && agent.sandboxed && i < KEEP_LOOKS; i++)
                ;
        for (uint32_t i = 0; is_taken(state) && !agent.sandboxed && i < KEEP_YIELDS; i++)
                sys_call3(SYS_sched_yield, 0, 0, 0);
        for (uint32_t i = 0; is_taken(state) && !agent.sandboxed && i < KEEP_WAITS; i++)
                sys_call6(SYS_futex, (long)state, SYS_FUTEX_WAIT, LEDGER_RECLAIM_TAKEN, (long)step, 0, 0);
        if (is_taken(state))
                __atomic_store_n(state, LEDGER_RECLAIM_GONE, __ATOMIC_RELEASE);
}

/* The page of B is not taken away any more, or has been. */
static void claim(const struct ledger_block *b)
{
        uint64_t page = (uint64_t)((const uint8_t *)b - agent.shadow) / LEDGER_RECLAIM_PAGE;

        for (uint32_t i = 0; i < LEDGER_RECLAIMS; i++) {
                struct ledger_reclaim *r = &agent.head->reclaim[i];
                uint32_t was = LEDGER_RECLAIM_WANTED;

                if (page < r->first || page >= r->end)
                        continue;
                if (!__atomic_compare_exchange_n(&r->state, &was, LEDGER_RECLAIM_KEPT, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) &&
                    was == LEDGER_RECLAIM_TAKEN)
                        await(&r->state);
        }
}

/* The observer raises head->reclaims, has every processor pass a memory barrier (membarrier), and looks at the entries only then.  So a
 * thread that wrote an entry and sees the number unchanged needs no barrier of its own: the observer will see the entry. */
void shadow_keep(struct thread *t, struct ledger_block *b, struct ledger_block what)
{
        uint32_t reclaims;

        if (agent.ledger_limit) /* which the observer may have seen before us */
                thin_check();
        do {
                reclaims = __atomic_load_n(&agent.head->reclaims, __ATOMIC_ACQUIRE);
                if (reclaims & 1)
                        claim(b);
                __atomic_store_n(&b->a, what.a, __ATOMIC_RELAXED);
                __atomic_store_n(&b->b, what.b, __ATOMIC_RELEASE);
                compiler_barrier();
        } while (__atomic_load_n(&agent.head->reclaims, __ATOMIC_RELAXED) != reclaims);
        t->reclaims = reclaims & ~1u; /* while it is odd every entry must be looked at */
}

uint32_t shadow_pool_plane(uint64_t address)
{
        return SHADOW_POOL + 4 * (uint32_t)(address & 7) + shadow_sub(address);
}

bool shadow_pool_used(uint32_t plane)
{
        return __atomic_load_n(&shadow_planes[plane], __ATOMIC_ACQUIRE);
}

struct ledger_block *shadow_pool_entry(uint64_t address)
{
        return shadow_entry(address, shadow_pool_plane(address));
}
