/* SPDX-License-Identifier: MIT */
/* glibc_arenas.c -- the arenas of glibc's malloc, known by what they look like. */
#include <stdlib.h>
#include <string.h>

#include "allocator/glibc_parts.h"
#include "base/heap.h"

#define BINS 127u /* pairs of words */
#define BINS_BYTES (BINS * 16u)
#define BINS_WRONG_MOST 2u
#define TOP (-16)              /* from the bins on */
#define NEXT (BINS_BYTES + 16) /* behind the map of the bins */
#define SYSTEM_BYTES (NEXT + 24)
#define FRONT_MOST 112u /* bytes of an arena before its bins, and with fast bins at least ... */
#define FRONT_FAST 104u
#define DATA_MOST (4u << 20) /* bytes of data that are looked at */
#define ARENAS_MOST 65536u
#define SPLIT 2u /* in the flags: the main arena is not in one piece */

/* ---- is it one? ---- */

static uint64_t word_or_0(struct glibc_walk *w, uint64_t at)
{
        uint64_t word = 0;

        return glibc_word(w, at, &word) ? word : 0;
}

/* A bin's head is at BIN + 16: its first and last chunk, or itself twice.  WORDS: its two words. */
static bool is_bin(struct glibc_walk *w, uint64_t bin, const uint64_t *words)
{
        if (words[0] == bin && words[1] == bin)
                return true;
        return words[0] % 16 == 0 && words[1] % 16 == 0 && words[0] != bin && words[1] != bin &&
               mappings_find(w->in->maps, words[0]) && mappings_find(w->in->maps, words[1]) &&
               word_or_0(w, words[0] + 24) == bin && word_or_0(w, words[1] + 16) == bin;
}

/* Whether the WORDS at BINS are bins, but for one or two that a thread may be about to change. */
static bool are_bins(struct glibc_walk *w, uint64_t bins, const uint64_t *words)
{
        uint32_t wrong = 0;

        for (uint32_t i = 0; i < BINS && wrong <= BINS_WRONG_MOST; i++)
                wrong += !is_bin(w, bins + 16 * i - 16, words + 2 * i);
        return wrong <= BINS_WRONG_MOST;
}

static void read_arena(struct glibc_walk *w, struct glibc_arena *a)
{
        a->top = word_or_0(w, a->bins + TOP);
        a->system_bytes = word_or_0(w, a->bins + SYSTEM_BYTES);
        a->fast = a->bins - a->at >= FRONT_FAST;
        a->split = word_or_0(w, a->at) >> 32 & SPLIT;
}

static struct glibc_arena *add(struct glibc_walk *w, struct glibc_arena a)
{
        w->arenas = heap_grow(w->arenas, w->arena_count + 1, sizeof *w->arenas);
        w->arenas[w->arena_count] = a;
        return &w->arenas[w->arena_count++];
}

/* ---- arenas of threads ---- */

bool glibc_is_heap_info(const struct glibc_heap_info *h, uint64_t at, uint64_t most)
{
        /* struct malloc_state follows the first heap_info at once. */
        uint64_t behind = h->arena % most;

        return h->size && h->size <= h->writable && h->writable <= most &&
               h->writable % GLIBC_PAGE == 0 && h->arena % 8 == 0 && behind >= sizeof *h &&
               behind < GLIBC_PAGE && h->previous % most == 0 && h->previous != at &&
               (h->arena - behind == at) == (h->previous == 0);
}

uint64_t glibc_heap_at(struct glibc_walk *w, uint64_t heap, const struct glibc_arena *a,
                       struct glibc_heap_info *out)
{
        if (!walk_read(w->in, heap, out, sizeof *out) ||
            !glibc_is_heap_info(out, heap, a->heap_most) || out->arena != a->at)
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

/* Four huge pages of 2 MiB or 1 GiB make a heap where glibc.malloc.hugetlb=2 is set.  A first heap
 * may lie at a multiple of several of the sizes; then the way from the last one tells. */
static uint64_t heap_most_of(struct glibc_walk *w, struct glibc_arena *a)
{
        static const uint64_t sizes[] = { GLIBC_HEAP, 8ull << 20, 4ull << 30 };
        uint64_t broken = 0;

        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
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
        uint64_t front = main.bins - main.at, at = word_or_0(w, main.bins + NEXT);

        for (uint32_t steps = 0; at != main.at; steps++) {
                struct glibc_arena a = { .at = at, .bins = at + front };

                if (!at || at % 8 || steps == ARENAS_MOST)
                        return false;
                read_arena(w, &a);
                if (!heap_most_of(w, &a))
                        return false;
                if (add_them)
                        add(w, a);
                at = word_or_0(w, a.bins + NEXT);
        }
        return true;
}

/* Where the arena with these BINS begins is known by the way around that leads back to it. */
static bool take_main(struct glibc_walk *w, uint64_t bins)
{
        for (uint64_t front = FRONT_MOST; front >= 16; front -= 8) {
                struct glibc_arena main = { .at = bins - front, .bins = bins };

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

        for (size_t i = 0; i + 2 * BINS <= count; i++) {
                uint64_t bins = data->start + 8 * i;

                if (are_bins(w, bins, words + i) && take_main(w, bins))
                        i += 2 * BINS;
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
               glibc_word(w, (words[2] + 15) / 16 * 16 + 8, &head) && (head & 7) == GLIBC_IN_USE;
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
