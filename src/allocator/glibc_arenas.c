/* SPDX-License-Identifier: MIT */
/* glibc_arenas.c -- the arenas of glibc's malloc, recognized by their contents. */
#include <stdlib.h>
#include <string.h>

#include "allocator/glibc_parts.h"
#include "base/heap.h"

#define BINS_WRONG_MOST 2u
#define DATA_MOST (4u << 20) /* bytes of data that are looked at */
#define ARENAS_MOST 65536u
#define SPLIT 2u /* in the flags: the main arena is not in one piece */

/* ---- is it one? ---- */

/* The address of the link to the next arena: behind the map of the bins. */
static uint64_t link_at(const struct glibc_walk *w, const struct glibc_arena *a)
{
        return a->bins + GLIBC_BINS * w->head + GLIBC_BIN_MAP;
}

/* Bytes of an arena before its bins, which has BEFORE of them before its fast bins: behind these
 * come top and another word. */
static uint64_t front(const struct glibc_walk *w, uint32_t before)
{
        return before + (glibc_fast_bins(w) + 2) * w->width;
}

#define BEFORE_FAST 8u /* bytes; since 2.27 three numbers of 4 bytes */
static uint32_t before_fast_most(const struct glibc_walk *w)
{
        return (12 + w->width - 1) / w->width * w->width;
}

static uint64_t word_or_0(struct glibc_walk *w, uint64_t at)
{
        uint64_t word = 0;

        return glibc_word(w, at, &word) ? word : 0;
}

/* A bin's head is where a chunk at BIN has its block: its first and last chunk, or itself twice.
 * WORDS: its two words. */
static bool is_bin(struct glibc_walk *w, uint64_t bin, const uint64_t *words)
{
        if (words[0] == bin && words[1] == bin)
                return true;
        return glibc_may_be_chunk(w, words[0]) && glibc_may_be_chunk(w, words[1]) &&
               words[0] != bin && words[1] != bin && mappings_find(w->in->maps, words[0]) &&
               mappings_find(w->in->maps, words[1]) &&
               word_or_0(w, words[0] + w->head + w->width) == bin &&
               word_or_0(w, words[1] + w->head) == bin;
}

/* Whether the WORDS at BINS are bins, but for one or two that a thread may be about to change. */
static bool are_bins(struct glibc_walk *w, uint64_t bins, const uint64_t *words)
{
        uint32_t wrong = 0;

        for (uint32_t i = 0; i < GLIBC_BINS && wrong <= BINS_WRONG_MOST; i++)
                wrong += !is_bin(w, bins + w->head * i - w->head, words + 2 * i);
        return wrong <= BINS_WRONG_MOST;
}

static void read_arena(struct glibc_walk *w, struct glibc_arena *a)
{
        uint8_t flags[4];

        a->top = word_or_0(w, a->bins - w->head);
        a->fast = a->bins - a->at >= front(w, BEFORE_FAST);
        a->split = walk_read(w->in, a->at + 4, flags, sizeof flags) &&
                   walk_number(w->in, flags, sizeof flags) & SPLIT;
}

static struct glibc_arena *add(struct glibc_walk *w, struct glibc_arena a)
{
        w->arenas = heap_grow(w->arenas, w->arena_count + 1, sizeof *w->arenas);
        w->arenas[w->arena_count] = a;
        return &w->arenas[w->arena_count++];
}

/* ---- arenas of threads ---- */

bool glibc_is_heap_info(const struct glibc_heap_info *h, uint64_t at, uint64_t most,
                        uint32_t width)
{
        /* struct malloc_state follows the first heap_info at once. */
        uint64_t behind = h->arena % most;

        return h->size && h->size <= h->writable && h->writable <= most &&
               h->writable % GLIBC_PAGE == 0 && h->arena % width == 0 && behind >= 4 * width &&
               behind < GLIBC_PAGE && h->previous % most == 0 && h->previous != at &&
               (h->arena - behind == at) == (h->previous == 0);
}

uint64_t glibc_heap_at(struct glibc_walk *w, uint64_t heap, const struct glibc_arena *a,
                       struct glibc_heap_info *out)
{
        uint64_t words[4];

        *out = (struct glibc_heap_info){ 0 };
        if (!walk_read_words(w->in, heap, words, 4))
                return 0;
        *out = (struct glibc_heap_info){ words[0], words[1], words[2], words[3] };
        if (!glibc_is_heap_info(out, heap, a->heap_most, w->width) || out->arena != a->at)
                *out = (struct glibc_heap_info){ 0 };
        return out->previous;
}

/* From the heap with the top of A back to its first. */
static bool leads_to_first(struct glibc_walk *w, const struct glibc_arena *a)
{
        uint64_t heap = a->top & ~(a->heap_most - 1), first = a->at & ~(a->heap_most - 1);
        struct glibc_heap_info h = { .arena = a->at };

        for (uint32_t steps = 0; heap != first && h.arena && steps < GLIBC_HEAPS_MOST; steps++)
                heap = glibc_heap_at(w, heap, a, &h);
        return heap == first;
}

/* Four huge pages of 2 MiB or 1 GiB (with words of 4 bytes: 2 or 4 MiB) make a heap where
 * glibc.malloc.hugetlb=2 is set.  A first heap may lie at a multiple of several of the sizes; then
 * the way from the last one tells. */
static uint64_t heap_most_of(struct glibc_walk *w, struct glibc_arena *a)
{
        static const uint64_t wide[] = { GLIBC_HEAP, 8ull << 20, 4ull << 30 };
        static const uint64_t narrow[] = { 1ull << 20, 8ull << 20, 16ull << 20 };
        const uint64_t *sizes = w->width == 8 ? wide : narrow;
        uint64_t broken = 0;

        for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) {
                struct glibc_heap_info h;

                a->heap_most = sizes[i];
                glibc_heap_at(w, a->at & ~(sizes[i] - 1), a, &h);
                if (!h.arena || h.previous)
                        continue;
                if (leads_to_first(w, a))
                        return sizes[i];
                broken = broken ? broken : sizes[i];
        }
        return a->heap_most = broken;
}

/* The circle from MAIN on.  false: it does not lead back. */
static bool follow(struct glibc_walk *w, struct glibc_arena main, bool add_them)
{
        uint64_t front = main.bins - main.at, at = word_or_0(w, link_at(w, &main));

        for (uint32_t steps = 0; at != main.at; steps++) {
                struct glibc_arena a = { .at = at, .bins = at + front };

                if (!at || at % w->width || steps == ARENAS_MOST)
                        return false;
                read_arena(w, &a);
                if (!heap_most_of(w, &a))
                        return false;
                if (add_them)
                        add(w, a);
                at = word_or_0(w, link_at(w, &a));
        }
        return true;
}

/* Where the arena with these BINS begins is known by the way around that leads back to it. */
static bool take_main(struct glibc_walk *w, uint64_t bins)
{
        for (uint64_t bytes = front(w, before_fast_most(w)); bytes >= w->head; bytes -= w->width) {
                struct glibc_arena main = { .at = bins - bytes, .bins = bins };

                if (!follow(w, main, false))
                        continue;
                read_arena(w, &main);
                add(w, main);
                follow(w, main, true);
                return true;
        }
        return false;
}

static void find_in(struct glibc_walk *w, const struct search_range *data)
{
        size_t count;
        uint64_t *words = walk_words(w->in, data, DATA_MOST, &count);

        for (size_t i = 0; i + 2 * GLIBC_BINS <= count; i++) {
                uint64_t bins = data->start + w->width * i;

                if (are_bins(w, bins, words + i) && take_main(w, bins))
                        i += 2 * GLIBC_BINS;
        }
        free(words);
}

/* ---- mp_ ---- */

#define MP_BINS_MOST 128u
#define MP_COUNT_MOST 65535u

/* WORDS: mmapped_mem, max_mmapped_mem, sbrk_base, tcache_bins, tcache_max_bytes, tcache_count. */
static bool is_mp(struct glibc_walk *w, const uint64_t *words)
{
        const struct mapping *m = mappings_find(w->in->maps, words[2]);
        uint64_t head;

        return words[2] && m && m->writable && words[2] <= w->arenas[0].top &&
               words[0] <= words[1] && words[0] % GLIBC_PAGE == 0 && words[1] % GLIBC_PAGE == 0 &&
               words[3] && words[3] <= MP_BINS_MOST && words[5] <= MP_COUNT_MOST &&
               glibc_word(w, glibc_chunk_from(w, words[2]) + w->width, &head) &&
               (head & 7) == GLIBC_IN_USE;
}

static void find_mp(struct glibc_walk *w, const struct search_range *data)
{
        uint64_t *words;
        size_t count;

        if (w->arenas[0].at < data->start || w->arenas[0].at >= data->end)
                return;
        words = walk_words(w->in, data, DATA_MOST, &count);
        for (size_t i = 0; i + 6 <= count; i++)
                if (is_mp(w, words + i)) {
                        w->mapped_bytes = words[i];
                        w->brk_start = words[i + 2];
                        break;
                }
        free(words);
}

void glibc_find_arenas(struct glibc_walk *w)
{
        for (uint32_t i = 0; i < w->in->data_count; i++)
                find_in(w, &w->in->data[i]);
        for (uint32_t i = 0; w->arena_count && i < w->in->data_count; i++)
                find_mp(w, &w->in->data[i]);
}
