/* SPDX-License-Identifier: MIT */
/* shadow.c -- address to live block: the parts that are not on the fast path. */
#include "book/shadow.h"

static shadow_middle nothing; /* where a top has no middle */

static void top_fill(shadow_top *top)
{
        for (uint32_t i = 0; i < 1u << SHADOW_TOP_BITS; i++)
                (*top)[i] = &nothing;
}

/* The top of PLANE; NULL: there is none, and no memory for it. */
static shadow_top *top_make(struct book *k, uint32_t plane)
{
        shadow_top *top = __atomic_load_n(&k->planes[plane], __ATOMIC_ACQUIRE), *fresh;

        if (top)
                return top;
        fresh = book_memory(sizeof *fresh);
        if (!fresh)
                return NULL;
        top_fill(fresh);
        if (__atomic_compare_exchange_n(&k->planes[plane], &top, fresh, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE))
                return fresh;
        book_memory_free(fresh, sizeof *fresh);
        return top;
}

bool shadow_start(struct book *k)
{
        bool good = true;

        top_fill(&k->plain);
        k->planes[0] = &k->plain;
        for (uint32_t plane = 1; good && k->spread && plane < LEDGER_PLANE_POOL; plane++)
                good = top_make(k, plane);
        return good;
}

static shadow_middle *middle_make(struct book *k, uint32_t plane, uint32_t i)
{
        shadow_top *top = top_make(k, plane);
        shadow_middle *m = top ? __atomic_load_n(&(*top)[i], __ATOMIC_ACQUIRE) : NULL, *fresh;

        if (m != &nothing)
                return m;
        fresh = book_memory(sizeof *fresh);
        if (!fresh)
                return NULL;
        if (__atomic_compare_exchange_n(&(*top)[i], &m, fresh, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE))
                return fresh;
        book_memory_free(fresh, sizeof *fresh);
        return m;
}

static struct ledger_block *chunk_make(struct book *k, uint64_t address, uint32_t plane)
{
        uint32_t number = __atomic_fetch_add(&k->head->shadow_chunk_count, 1, __ATOMIC_RELAXED);
        struct ledger_chunk *c;

        if (!book_commit(k, LEDGER_SHADOW, (number + 1ull) * LEDGER_SHADOW_CHUNK_BYTES) ||
            !book_commit(k, LEDGER_CHUNKS, (number + 1ull) * sizeof *c)) {
                __atomic_fetch_sub(&k->head->shadow_chunk_count, 1, __ATOMIC_RELAXED);
                return NULL;
        }
        c = (struct ledger_chunk *)book_part(k, LEDGER_CHUNKS) + number;
        c->base = address & ~(LEDGER_SHADOW_SPAN - 1);
        c->plane = plane;
        __atomic_store_n(&c->ready, 1, __ATOMIC_RELEASE);
        return (struct ledger_block *)(k->shadow + number * LEDGER_SHADOW_CHUNK_BYTES);
}

struct ledger_block *shadow_make(struct book *k, uint64_t address, uint32_t plane)
{
        shadow_middle *m;
        struct ledger_block **place, *none = NULL, *chunk;

        if (address >> LEDGER_ADDRESS_BITS || (address & 7) != LEDGER_PLANE_LOW(plane)) {
                __atomic_add_fetch(&k->head->untracked_blocks, 1, __ATOMIC_RELAXED);
                return NULL;
        }
        m = middle_make(k, plane, (uint32_t)(address >> SHADOW_TOP_AT));
        if (!m) {
                book_full(k, LEDGER_STOP_NO_MEMORY);
                return NULL;
        }
        place = &(*m)[SHADOW_MIDDLE(address)];
        if (!__atomic_load_n(place, __ATOMIC_ACQUIRE)) {
                chunk = chunk_make(k, address, plane);
                if (!chunk) {
                        book_full(k, LEDGER_STOP_SHADOW_FULL);
                        return NULL;
                }
                /* Whoever loses this race leaves an empty chunk behind, which no
                 * one reads anything from. */
                __atomic_compare_exchange_n(place, &none, chunk, false, __ATOMIC_ACQ_REL,
                                            __ATOMIC_RELAXED);
        }
        return shadow_entry(k, address, plane);
}

bool shadow_adopt(struct book *k, uint32_t number)
{
        const struct ledger_chunk *c = (struct ledger_chunk *)book_part(k, LEDGER_CHUNKS) + number;
        shadow_middle *m = middle_make(k, c->plane, (uint32_t)(c->base >> SHADOW_TOP_AT));

        if (m)
                (*m)[SHADOW_MIDDLE(c->base)] =
                        (struct ledger_block *)(k->shadow + number * LEDGER_SHADOW_CHUNK_BYTES);
        return m != NULL;
}

void shadow_end(struct book *k)
{
        for (uint32_t plane = 0; plane < LEDGER_PLANES; plane++) {
                shadow_top *top = k->planes[plane];

                for (uint32_t i = 0; top && i < 1u << SHADOW_TOP_BITS; i++)
                        if ((*top)[i] != &nothing)
                                book_memory_free((*top)[i], sizeof(shadow_middle));
                if (top && top != &k->plain)
                        book_memory_free(top, sizeof *top);
                k->planes[plane] = NULL;
        }
}

/* ---- the observer takes shadow away ---- */

/* The page of B is not taken away any more, or has been. */
static void claim(struct book *k, const struct ledger_block *b)
{
        uint64_t page = (uint64_t)((const uint8_t *)b - k->shadow) / LEDGER_RECLAIM_PAGE;

        for (uint32_t i = 0; i < LEDGER_RECLAIMS; i++) {
                struct ledger_reclaim *r = &k->head->reclaim[i];
                uint32_t was = LEDGER_RECLAIM_WANTED;

                if (page < r->first || page >= r->end)
                        continue;
                if (!__atomic_compare_exchange_n(&r->state, &was, LEDGER_RECLAIM_KEPT, false,
                                                 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) &&
                    was == LEDGER_RECLAIM_TAKEN)
                        book_await(&r->state);
        }
}

/* The observer raises head->reclaims, has every processor pass a memory barrier (membarrier), and
 * looks at the entries only then.  So a thread that wrote an entry and sees the number unchanged
 * needs no barrier of its own: the observer will see the entry. */
void shadow_keep(struct book *k, struct book_writer *w, struct ledger_block *b,
                 struct ledger_block what)
{
        uint32_t reclaims;

        book_check(k); /* the observer may have seen before us that it is too large */
        do {
                reclaims = __atomic_load_n(&k->head->reclaims, __ATOMIC_ACQUIRE);
                if (reclaims & 1)
                        claim(k, b);
                __atomic_store_n(&b->a, what.a, __ATOMIC_RELAXED);
                __atomic_store_n(&b->b, what.b, __ATOMIC_RELEASE);
                compiler_barrier();
        } while (__atomic_load_n(&k->head->reclaims, __ATOMIC_RELAXED) != reclaims);
        w->reclaims = reclaims & ~1u; /* while it is odd every entry must be looked at */
}

uint32_t shadow_pool_plane(uint64_t address)
{
        return SHADOW_POOL + 4 * (uint32_t)(address & 7) + shadow_sub(address);
}

bool shadow_pool_used(const struct book *k, uint32_t plane)
{
        return __atomic_load_n(&k->planes[plane], __ATOMIC_ACQUIRE);
}

struct ledger_block *shadow_pool_entry(const struct book *k, uint64_t address)
{
        return shadow_entry(k, address, shadow_pool_plane(address));
}
