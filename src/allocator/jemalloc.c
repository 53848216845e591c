/* SPDX-License-Identifier: MIT */
#include "allocator/jemalloc.h"

#include <stdlib.h>
#include <string.h>

#include "allocator/radix.h"
#include "base/heap.h"
#include "base/order.h"

#define PAGE 4096u
#define LEVEL (1u << 18) /* words of the root, and of a leaf: a GiB */
#define SPACE (1ull << 47) /* of a program */
#define HUGE_BYTES (2ull << 20)
#define BASE_MOST 4096u  /* times that, which a mapping of the base may have */
#define BASES_MOST 65536u
#define DATA_MOST (64u << 20) /* of a static program, too */
#define REGIONS_MOST 512u
#define CLASSES 232u
#define SMALL_CLASSES 36u
#define CACHED_MOST 8192u /* of a class, in a thread */

/* A word of a leaf. */
#define LEAF_EXTENT(w) ((w) & 0xffffffffff80ull)
#define LEAF_SLAB(w) ((w) & 1u)
#define LEAF_STATE(w) ((w) >> 2 & 7u)

/* Descriptor of an extent: edata_t. */
struct extent {
        uint64_t bits, address, size, ps, serial, links[3], free[8];
};

#define EXTENT_SLAB(x) ((x)->bits >> 12 & 1u)
#define EXTENT_STATE(x) ((x)->bits >> 17 & 7u) /* 0: in use */
#define EXTENT_CLASS(x) ((uint32_t)((x)->bits >> 20 & 0xffu))
#define EXTENT_FREE(x) ((uint32_t)((x)->bits >> 28 & 0x3ffu))
#define EXTENT_START(x) ((x)->address & ~(PAGE - 1ull))
#define EXTENT_BYTES(x) ((x)->size & ~(PAGE - 1ull))

/* cache_bin_t, with statistics. */
struct cache {
        uint64_t head, requests;
        uint16_t low_water, full, empty, padding;
};

struct walk {
        const struct walk_input *in;
        struct walk_blocks *out;
        uint64_t *cached; /* sorted: regions that are free in the caches of threads */
        uint64_t *stacks; /* sorted: where these are kept, which is a block, too */
        uint64_t cached_count;
        uint32_t stack_count;
        uint64_t base, base_end; /* the last mapping of the base that was met */
};

static bool read_at(const struct walk *w, uint64_t at, void *to, size_t bytes)
{
        return walk_read(w->in, at, to, bytes);
}

/* 8, then four of equal distance for each power of two: 16 32 48 64, 80 96 112 128, 160 ... */
static uint64_t class_bytes(uint32_t class)
{
        uint32_t group = (class - 1) / 4, step = (class - 1) % 4;

        if (class == 0)
                return 8;
        if (group == 0)
                return 16ull * (step + 1);
        return (16ull << (group + 1)) + (step + 1) * (16ull << (group - 1));
}

/* ---- the caches of threads ---- */

/* Between two places of one stack, which are told by their lower bits. */
static uint32_t apart(uint16_t from, uint16_t to)
{
        return (uint16_t)(to - from);
}

/* Classes whose stacks lie behind each other from C on; no cache has less than the small ones. */
static uint32_t caches_count(const struct cache *c, uint32_t room)
{
        uint32_t n = 0;

        while (n < room && c[n].head && c[n].head % 8 == 0 &&
               apart(c[n].full, c[n].empty) / 8 - 1 < CACHED_MOST &&
               apart((uint16_t)c[n].head, c[n].empty) <= apart(c[n].full, c[n].empty) &&
               (n == 0 || c[n].full == c[n - 1].empty))
                n++;
        return n;
}

static void take_cache(struct walk *w, const struct cache *c)
{
        uint32_t count = apart((uint16_t)c->head, c->empty) / 8;

        w->stacks = heap_next(w->stacks, w->stack_count, sizeof *w->stacks);
        w->stacks[w->stack_count++] = c->head + 8ull * count; /* behind its last word */
        w->cached = heap_grow(w->cached, w->cached_count + count + 1, sizeof *w->cached);
        if (read_at(w, c->head, w->cached + w->cached_count, 8ull * count))
                w->cached_count += count;
        else
                walk_ends(w->out, c->head, "cache of jemalloc 5.3");
}

static void find_caches(struct walk *w, const struct search_range *tls)
{
        uint32_t width = sizeof(struct cache) / 8, count;
        size_t words;
        uint64_t *all = walk_words(w->in, tls, DATA_MOST, &words);

        for (size_t i = 0; i + SMALL_CLASSES * width <= words; i++) {
                const struct cache *c = (const struct cache *)(const void *)(all + i);

                count = caches_count(c, (uint32_t)((words - i) / width));
                if (count < SMALL_CLASSES)
                        continue;
                for (uint32_t k = 0; k < count; k++)
                        take_cache(w, &c[k]);
                break;
        }
        free(all);
}

static bool is_cached(const struct walk *w, uint64_t address)
{
        return w->cached_count &&
               bsearch(&address, w->cached, w->cached_count, sizeof address, order_u64);
}

/* Whether a stack of a cache ends in the block: then it is jemalloc's own. */
static bool holds_stack(const struct walk *w, uint64_t start, uint64_t end)
{
        for (uint32_t i = 0; i < w->stack_count; i++)
                if (w->stacks[i] > start && w->stacks[i] <= end)
                        return true;
        return false;
}

/* ---- extents ---- */

static void take_block(struct walk *w, uint64_t at, uint64_t bytes)
{
        if (!is_cached(w, at) && !holds_stack(w, at, at + bytes))
                walk_add_block(w->out, at, at + bytes);
}

static void take_slab(struct walk *w, const struct extent *x)
{
        uint64_t bytes = class_bytes(EXTENT_CLASS(x)), count = EXTENT_BYTES(x) / bytes;
        uint32_t spare = 0;

        for (uint32_t i = 0; i < count && i < REGIONS_MOST; i++) /* what is behind was never set */
                spare += x->free[i / 64] >> i % 64 & 1;
        if (EXTENT_CLASS(x) >= SMALL_CLASSES || count > REGIONS_MOST || spare != EXTENT_FREE(x)) {
                walk_ends(w->out, x->address, "slab of jemalloc 5.3");
                return;
        }
        for (uint32_t i = 0; i < count; i++)
                if (!(x->free[i / 64] >> i % 64 & 1))
                        take_block(w, x->address + i * bytes, bytes);
}

static bool is_extent(const struct extent *x, uint64_t page, uint64_t word)
{
        return EXTENT_START(x) == page && EXTENT_BYTES(x) && EXTENT_BYTES(x) < SPACE &&
               EXTENT_STATE(x) == LEAF_STATE(word) &&
               (EXTENT_STATE(x) || (EXTENT_SLAB(x) == LEAF_SLAB(word) &&
                                    EXTENT_CLASS(x) == word >> 48 && word >> 48 < CLASSES));
}

/* The mapping of the base that AT lies in, and those that it leads to. */
static void find_base(struct walk *w, uint64_t at)
{
        uint64_t head[4], start = at & ~(HUGE_BYTES - 1); /* size, next, bits, address */
        uint32_t steps = 0;

        if (at - w->base < w->base_end - w->base)
                return;
        for (; steps < BASE_MOST; steps++, start -= HUGE_BYTES)
                if (read_at(w, start, head, sizeof head) && head[0] && head[0] % HUGE_BYTES == 0 &&
                    at - start < head[0] && head[3] - start <= head[0])
                        break;
        if (steps == BASE_MOST) {
                walk_ends(w->out, at, "mapping of jemalloc 5.3");
                start = at & ~(HUGE_BYTES - 1);
                head[0] = HUGE_BYTES;
        }
        w->base = start;
        w->base_end = start + head[0];
        for (uint32_t i = 0; i < w->out->own_count; i++)
                if (w->out->own[i].start == start)
                        return;
        if (steps == BASE_MOST)
                return;
        for (steps = 0; steps < BASES_MOST && read_at(w, start, head, sizeof head) && head[0] &&
                        head[0] % HUGE_BYTES == 0; steps++) {
                walk_add_own(w->out, start, start + head[0]);
                start = head[1];
                if (!start)
                        return;
        }
}

/* WORD is what the tree has for PAGE; other pages of an extent may have the same. */
static void take_page(struct walk *w, uint64_t page, uint64_t word)
{
        uint64_t at = LEAF_EXTENT(word);
        struct extent x;

        if (!at)
                return;
        if (!read_at(w, at, &x, sizeof x) || page < EXTENT_START(&x) ||
            page - EXTENT_START(&x) >= EXTENT_BYTES(&x)) {
                walk_ends(w->out, page, "page of jemalloc 5.3");
                return;
        }
        if (EXTENT_START(&x) != page)
                return;
        if (!is_extent(&x, page, word)) {
                walk_ends(w->out, page, "extent of jemalloc 5.3");
                return;
        }
        find_base(w, at);
        walk_add_own(w->out, page, page + EXTENT_BYTES(&x));
        if (EXTENT_STATE(&x))
                return;
        if (EXTENT_SLAB(&x))
                take_slab(w, &x);
        else if (x.address - page + class_bytes(EXTENT_CLASS(&x)) > EXTENT_BYTES(&x))
                walk_ends(w->out, x.address, "block of jemalloc 5.3");
        else
                take_block(w, x.address, class_bytes(EXTENT_CLASS(&x)));
}

/* ---- the tree ---- */

static bool learn_page(void *context, uint64_t word, uint64_t *page)
{
        const struct walk *w = context;
        struct extent x;

        if (!LEAF_EXTENT(word) || !read_at(w, LEAF_EXTENT(word), &x, sizeof x) ||
            x.address >= SPACE || !is_extent(&x, EXTENT_START(&x), word))
                return false;
        *page = x.address / PAGE;
        return true;
}

static void take_word(void *context, uint64_t page, uint64_t word)
{
        take_page(context, page * PAGE, word);
}

/* ---- all of it ---- */

void jemalloc_find(struct walk_blocks *b, const struct walk_input *in)
{
        struct walk w = { .in = in, .out = b };
        struct radix tree = { LEVEL, LEVEL, take_word, &w, 0, 0, learn_page };

        *b = (struct walk_blocks){ 0 };
        if (in->memory.narrow || in->memory.turned)
                return;
        for (uint32_t i = 0; i < in->tls_count; i++)
                find_caches(&w, &in->tls[i]);
        if (w.cached_count)
                qsort(w.cached, w.cached_count, sizeof *w.cached, order_u64);
        for (uint32_t i = 0; i < in->data_count && !b->malloc_at; i++)
                b->malloc_at = radix_walk(&tree, in, &in->data[i]);
        walk_sort(b);
        free(w.cached);
        free(w.stacks);
}
