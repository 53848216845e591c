/* SPDX-License-Identifier: MIT */
/*
 * glibc_free.c -- free chunks that look like used ones: in fast bins and in caches of threads.
 *
 * Since 2.32 a pointer in these lists is XORed with the page that it lies in ("safe linking").
 * Which it is shows by the pointer itself: read in the right way it leads to a chunk of the list's
 * size, or is NULL.
 */
#include <stdlib.h>

#include "allocator/glibc_parts.h"
#include "base/heap.h"
#include "base/order.h"

#define CACHE_SMALL_BINS 64u /* one for each size; behind them, for powers of two */

/* struct tcache_perthread_struct: counts, and behind them a pointer for each bin.  2.26 to 2.29,
 * 2.30 to 2.41, since 2.42. */
static const struct {
        uint32_t count_bytes, bins;
} caches[] = {
        { 64, 64 },
        { 128, 64 },
        { 152, 76 },
};

static void add_free(struct glibc_walk *w, uint64_t chunk)
{
        if (w->free_count == w->free_room) {
                w->free_room = w->free_room ? w->free_room * 2 : 1024;
                w->free_chunks = heap_grow(w->free_chunks, w->free_room, sizeof *w->free_chunks);
        }
        w->free_chunks[w->free_count++] = chunk;
}

/* SIZE 0: any. */
static bool is_chunk(struct glibc_walk *w, uint64_t chunk, uint64_t size)
{
        uint64_t word;

        return glibc_may_be_chunk(w, chunk) && glibc_owns(w, chunk) &&
               glibc_word(w, chunk + w->width, &word) && GLIBC_SIZE(word) >= w->minimum &&
               (!size || GLIBC_SIZE(word) == size);
}

/* Chunks are linked by the first word of their blocks, to the next one's address plus INTO.  From
 * glibc 2.32 on the word is masked with its own address / 4096 (SAFE).  Where a heap lies low that
 * changes so few bits that the masked word may be the address of another chunk: a single word does
 * not tell
 * which it is, the end of its list does. */
struct list {
        uint64_t size; /* of its chunks; 0: any */
        uint32_t into;
        bool safe;
};

enum walked { WALKED_WHOLE, WALKED_ASTRAY, WALKED_ROUND };

static uint64_t next_in(const struct glibc_walk *w, const struct list *l, uint64_t chunk,
                        uint64_t word)
{
        uint64_t next = l->safe ? word ^ (chunk + w->head) >> 12 : word;

        return next ? next - l->into : 0;
}

/* From *CHUNK on, where it ends if not at the end of the list.  NOTE: they are free. */
static enum walked follow(struct glibc_walk *w, const struct list *l, uint64_t *chunk, bool note)
{
        uint64_t mark = 0; /* the chunk at the last power of two: a ring leads back to one */
        uint64_t word;

        for (uint64_t steps = 1; *chunk; steps++) {
                if (!is_chunk(w, *chunk, l->size))
                        return WALKED_ASTRAY;
                if (note)
                        add_free(w, *chunk);
                if (!glibc_word(w, *chunk + w->head, &word))
                        return WALKED_WHOLE;
                *chunk = next_in(w, l, *chunk, word);
                if (*chunk && *chunk == mark)
                        return WALKED_ROUND;
                if (!(steps & (steps - 1)))
                        mark = *chunk;
        }
        return WALKED_WHOLE;
}

/* A list that leads to no chunk ends there: it is being changed, or destroyed. */
static void walk_list(struct glibc_walk *w, struct list l, uint64_t chunk)
{
        uint64_t at = chunk, plain = chunk;
        struct list other = l;

        l.safe = true;
        if (follow(w, &l, &at, false) != WALKED_WHOLE &&
            follow(w, &other, &plain, false) == WALKED_WHOLE)
                l = other;
        switch (follow(w, &l, &chunk, true)) {
        case WALKED_ASTRAY:
                walk_trouble(w->out,
                             "a list of free blocks of %llu bytes leads to 0x%llx, which is none",
                             (unsigned long long)l.size, (unsigned long long)chunk + w->head);
                break;
        case WALKED_ROUND:
                walk_trouble(w->out, "a list of free blocks leads in a circle at 0x%llx",
                             (unsigned long long)chunk + w->head);
                break;
        case WALKED_WHOLE:
                break;
        }
}

static void walk_fast_bins(struct glibc_walk *w, const struct glibc_arena *a)
{
        uint32_t bins = glibc_fast_bins(w);
        uint64_t first = a->bins - w->head - bins * w->width; /* top and another word behind them */

        for (uint32_t i = 0; a->fast && i < bins; i++) {
                struct list l = { .size = w->minimum + glibc_fast_step(w) * i };
                uint64_t chunk = 0;

                glibc_word(w, first + w->width * i, &chunk);
                walk_list(w, l, chunk);
        }
}

/* ---- caches ---- */

static uint64_t size_of_bin(const struct glibc_walk *w, uint32_t bin)
{
        return bin < CACHE_SMALL_BINS ? w->minimum + w->alignment * bin : 0;
}

static uint64_t cache_chunk(const struct glibc_walk *w, size_t form)
{
        return glibc_chunk_bytes(w, caches[form].count_bytes + caches[form].bins * w->width);
}

/* Whether a struct tcache_perthread_struct is at AT, which a thread-local variable points to; which
 * of the forms. */
static bool is_cache(struct glibc_walk *w, uint64_t at, size_t *form)
{
        uint64_t word, entry;

        if (at % w->alignment || !glibc_owns(w, at) || !glibc_word(w, at - w->width, &word) ||
            (word & GLIBC_MAPPED))
                return false;
        /* A rest that is too small for a chunk stays with the one that it is behind. */
        for (*form = 0; *form < sizeof caches / sizeof *caches; ++*form)
                if (GLIBC_SIZE(word) - cache_chunk(w, *form) < w->minimum)
                        break;
        if (*form == sizeof caches / sizeof *caches)
                return false;
        for (uint32_t i = 0; i < caches[*form].bins; i++)
                if (!glibc_word(w, at + caches[*form].count_bytes + w->width * i, &entry) ||
                    (entry && !is_chunk(w, entry - w->head, size_of_bin(w, i))))
                        return false;
        return true;
}

static void take_cache(struct glibc_walk *w, uint64_t at)
{
        size_t form;

        for (uint32_t i = 0; i < w->cache_count; i++)
                if (w->caches[i] == at - w->head)
                        return;
        if (!is_cache(w, at, &form))
                return;
        w->caches = heap_grow(w->caches, w->cache_count + 1, sizeof *w->caches);
        w->caches[w->cache_count++] = at - w->head;
        for (uint32_t i = 0; i < caches[form].bins; i++) {
                struct list l = { .size = size_of_bin(w, i), .into = w->head };
                uint64_t entry = 0;

                glibc_word(w, at + caches[form].count_bytes + w->width * i, &entry);
                walk_list(w, l, entry ? entry - w->head : 0);
        }
}

/* The first thing that a thread gets from an arena of its own is its cache. */
static bool is_first_chunk(const struct glibc_walk *w, uint64_t chunk)
{
        uint32_t i = 0;

        while (i < w->piece_count && w->pieces[i].start != chunk)
                i++;
        return i < w->piece_count;
}

/* Whether a cache is at AT by its contents alone: each list that it has has a count, and there is
 * one, or it lies where a cache would. */
static bool looks_like_cache(struct glibc_walk *w, uint64_t at)
{
        bool used = is_first_chunk(w, at - w->head);
        size_t form;

        if (!is_cache(w, at, &form))
                return false;
        for (uint32_t i = 0; i < caches[form].bins; i++) {
                uint32_t bytes = caches[form].count_bytes / caches[form].bins;
                uint8_t count[2] = { 0 };
                uint64_t entry = 0;

                glibc_word(w, at + caches[form].count_bytes + w->width * i, &entry);
                if (!walk_read(w->in, at + bytes * i, count, bytes) ||
                    (entry != 0) != (count[0] || count[1]))
                        return false;
                used = used || entry;
        }
        return used;
}

void glibc_see_cache(struct glibc_walk *w, uint64_t chunk, uint64_t size)
{
        (void)size;
        if (looks_like_cache(w, chunk + w->head))
                take_cache(w, chunk + w->head);
}

void glibc_find_free(struct glibc_walk *w)
{
        for (uint32_t i = 0; i < w->arena_count; i++)
                walk_fast_bins(w, &w->arenas[i]);
        for (uint32_t i = 0; i < w->in->tls_count; i++)
                for (uint64_t at = (w->in->tls[i].start + w->width - 1) & ~(w->width - 1ull);
                     at + w->width <= w->in->tls[i].end; at += w->width) {
                        uint64_t word = 0;

                        if (glibc_word(w, at, &word) && word)
                                take_cache(w, word);
                }
        if (w->free_count)
                qsort(w->free_chunks, w->free_count, sizeof *w->free_chunks, order_u64);
        if (w->cache_count)
                qsort(w->caches, w->cache_count, sizeof *w->caches, order_u64);
}
