/* SPDX-License-Identifier: MIT */
#include "allocator/mimalloc.h"

#include <stdlib.h>
#include <string.h>

#include "base/find.h"
#include "base/heap.h"
#include "base/order.h"

#define SEGMENT (32ull << 20)
#define SLICE (64ull << 10)
#define SLICES_MOST 512u /* of a segment that have descriptors */
#define HEAD_WORDS 64u   /* the cookie is among the first */
#define HEAD_LEAST 8u
#define KINDS 2u
#define HUGE_BLOCK (2ull << 30) /* a size that does not fit into 32 bits */
#define SMALL_MOST 1024u
#define SMALL_OFFSET 384u    /* pages of small blocks begin so far inside of their first slice */
#define PAGE_MOST (1u << 20) /* bytes of a page with several blocks */
#define HEAPS_MOST 65536u
#define DELAYED_MOST (1u << 26) /* blocks in the list of a heap */
#define ALIGNED 2u              /* in the flags of a page: blocks were got with an alignment */
#define LIST_STATE 3u           /* in the head of the list that other threads use */
#define DATA_MOST (64u << 20)   /* of a static program, too */

/* Words of the main heap, from its queues of pages on. */
#define QUEUES 75u
#define QUEUES_AT 0x410u /* bytes from the start of a heap */
#define QUEUE_WORDS 3u   /* first page, last page, size of blocks */
#define DELAYED (QUEUES * QUEUE_WORDS)
#define COOKIE (DELAYED + 3u)

/* Descriptor of a slice; the first of a page has all of it: mi_page_t. */
struct page {
        uint32_t slices, offset;
        uint8_t state, padding;
        uint16_t capacity, reserved;
        uint8_t flags, zero;
        uint64_t free;
        uint32_t used, block_bytes; /* 0: nobody has the slices */
        uint64_t local_free, thread_free, heap, next, previous, more;
};
_Static_assert(sizeof(struct page) == 80, "as in memory");

struct segment {
        uint64_t base, used, slices, first, kind, entries;
        struct page page[SLICES_MOST];
};

struct walk {
        const struct walk_input *in;
        struct walk_blocks *out;
        uint64_t cookie;
        struct segment segment; /* the one that is looked at */
        uint64_t *segments;
        uint32_t segment_count;
        uint64_t *heaps;
        uint32_t heap_count;
        uint64_t *delayed; /* sorted: blocks that other threads have freed, and pages do not know */
        uint64_t delayed_count;
        uint8_t *data;  /* of a page */
        uint8_t *spare; /* by block of a page: it is free */
};

/* ---- pages ---- */

static uint64_t page_start(const struct segment *s, uint32_t index)
{
        const struct page *p = &s->page[index];

        return s->base + index * SLICE +
               (p->block_bytes >= 8 && p->block_bytes <= SMALL_MOST ? SMALL_OFFSET : 0);
}

static uint64_t page_end(const struct segment *s, uint32_t index)
{
        return s->base + (index + (uint64_t)s->page[index].slices) * SLICE;
}

/* Blocks from the one at HEAD on are free, which is in the page that DATA has; false: they lead
 * elsewhere. */
static bool take_list(struct walk *w, const struct page *p, uint64_t start, uint64_t head,
                      uint32_t *count)
{
        for (uint64_t at = head; at;) {
                uint64_t index = (at - start) / p->block_bytes;

                if (at < start || index >= p->capacity || (at - start) % p->block_bytes ||
                    w->spare[index])
                        return false;
                w->spare[index] = 1;
                ++*count;
                memcpy(&at, w->data + (at - start), sizeof at);
        }
        return true;
}

static void take_delayed(struct walk *w, const struct page *p, uint64_t start)
{
        uint64_t end = start + (uint64_t)p->capacity * p->block_bytes,
                 i = FIND_FIRST(w->delayed_count, k, w->delayed[k] < start);

        for (; i < w->delayed_count && w->delayed[i] < end; i++)
                w->spare[(w->delayed[i] - start) / p->block_bytes] = 1;
}

/* Its free blocks are in SPARE then. */
static bool take_lists(struct walk *w, const struct page *p, uint64_t start)
{
        uint64_t bytes = (uint64_t)p->capacity * p->block_bytes;
        uint32_t count = 0, others = 0;

        memset(w->spare, 0, p->capacity);
        if (p->free || p->local_free || p->thread_free & ~(uint64_t)LIST_STATE) {
                if (bytes > PAGE_MOST || !walk_read(w->in, start, w->data, bytes))
                        return false;
                if (!take_list(w, p, start, p->free, &count) ||
                    !take_list(w, p, start, p->local_free, &count) ||
                    !take_list(w, p, start, p->thread_free & ~(uint64_t)LIST_STATE, &others))
                        return false;
        }
        take_delayed(w, p, start);
        return count + p->used == p->capacity && others <= p->used;
}

static bool is_delayed(const struct walk *w, uint64_t block)
{
        return w->delayed_count &&
               bsearch(&block, w->delayed, w->delayed_count, sizeof block, order_u64);
}

static void take_page(struct walk *w, uint32_t index)
{
        const struct segment *s = &w->segment;
        const struct page *p = &s->page[index];
        uint64_t start = page_start(s, index), end = page_end(s, index);

        if (p->flags & ALIGNED)
                walk_add_inner(w->out, start, end);
        if (p->capacity == 1 && p->reserved == 1 && p->used && start < end) {
                uint64_t bytes = p->block_bytes < HUGE_BLOCK ? p->block_bytes : end - start;

                if (bytes > end - start)
                        walk_ends(w->out, start, "block of mimalloc 2.0");
                else if (!(p->thread_free & ~(uint64_t)LIST_STATE) && !is_delayed(w, start))
                        walk_add_block(w->out, start, start + bytes);
                return;
        }
        if (p->block_bytes < 8 || p->capacity > p->reserved || start > end ||
            p->reserved != (end - start) / p->block_bytes || !take_lists(w, p, start)) {
                walk_ends(w->out, start, "page of mimalloc 2.0");
                return;
        }
        for (uint64_t i = 0; i < p->capacity; i++)
                if (!w->spare[i])
                        walk_add_block(w->out, start + i * p->block_bytes,
                                       start + (i + 1) * p->block_bytes);
}

/* ---- segments ---- */

/* Fill SEGMENT with the one at BASE; false: there is none, or nobody has it. */
static bool read_segment(struct walk *w, uint64_t base)
{
        struct segment *s = &w->segment;
        uint64_t head[HEAD_WORDS];
        uint32_t c = HEAD_LEAST;

        if (!walk_read(w->in, base, head, sizeof head))
                return false;
        while (c + 6 < HEAD_WORDS && head[c] != (base ^ w->cookie))
                c++;
        if (c + 6 >= HEAD_WORDS)
                return false;
        *s = (struct segment){ .base = base,
                               .used = head[c - 1],
                               .slices = head[c + 1],
                               .first = head[c + 2],
                               .kind = (uint32_t)head[c + 3],
                               .entries = head[c + 4] };
        return s->used && s->entries && s->entries <= SLICES_MOST && s->entries <= s->slices &&
               s->slices < UINT32_MAX && s->first && s->first < s->entries && s->kind < KINDS &&
               walk_read(w->in, base + 8 * (c + 6), s->page, s->entries * sizeof *s->page);
}

/* Calls TAKE for each page of SEGMENT; false: its slices do not follow each other to its end. */
static bool each_page(struct walk *w, void (*take)(struct walk *w, uint32_t index))
{
        const struct segment *s = &w->segment;
        uint64_t i = s->first;
        uint32_t pages = 0;

        while (i < s->entries) {
                const struct page *p = &s->page[i];

                if (!p->slices || p->offset || p->slices > s->slices - i)
                        return false;
                if (p->block_bytes) {
                        take(w, (uint32_t)i);
                        pages++;
                }
                i += p->slices;
        }
        return pages == s->used;
}

static void note_heap(struct walk *w, uint32_t index)
{
        uint64_t heap = w->segment.page[index].heap;

        for (uint32_t i = 0; i < w->heap_count; i++)
                if (w->heaps[i] == heap)
                        return;
        if (!heap || w->heap_count == HEAPS_MOST) /* the thread that had it is gone */
                return;
        w->heaps = heap_next(w->heaps, w->heap_count, sizeof *w->heaps);
        w->heaps[w->heap_count++] = heap;
}

static void find_segments(struct walk *w)
{
        const struct mappings *maps = w->in->maps;

        for (uint32_t i = 0; i < maps->count; i++) {
                const struct mapping *m = &maps->at[i];
                uint64_t base = (m->start + SEGMENT - 1) & ~(SEGMENT - 1);

                for (; m->anonymous && m->writable && base < m->end; base += SEGMENT) {
                        if (!read_segment(w, base) || !each_page(w, note_heap))
                                continue;
                        w->segments = heap_next(w->segments, w->segment_count, sizeof *w->segments);
                        w->segments[w->segment_count++] = base;
                        walk_add_own(w->out, base, base + w->segment.slices * SLICE);
                }
        }
}

/* ---- heaps ---- */

static const uint64_t first_sizes[] = { 8, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128 };

/* Whether QUEUES are those of a heap. */
static bool are_queues(const uint64_t *queues)
{
        for (size_t i = 0; i < sizeof first_sizes / sizeof *first_sizes; i++)
                if (queues[QUEUE_WORDS * i + 2] != first_sizes[i])
                        return false;
        return true;
}

static void take_heap(struct walk *w, uint64_t at)
{
        uint64_t words[COOKIE + 1], block;

        if (!walk_read(w->in, at + QUEUES_AT, words, sizeof words) || !are_queues(words)) {
                walk_ends(w->out, at, "heap of mimalloc 2.0");
                return;
        }
        walk_add_own(w->out, at, at + QUEUES_AT + sizeof words);
        block = words[DELAYED];
        for (uint32_t steps = 0; block && steps < DELAYED_MOST; steps++) {
                w->delayed = heap_next(w->delayed, w->delayed_count, sizeof *w->delayed);
                w->delayed[w->delayed_count++] = block;
                if (!walk_read(w->in, block, &block, sizeof block)) {
                        walk_ends(w->out, block, "block of mimalloc 2.0");
                        return;
                }
        }
}

/* ---- all of it ---- */

static void take_all(struct walk *w)
{
        for (uint32_t i = 0; i < w->heap_count; i++)
                take_heap(w, w->heaps[i]);
        if (w->delayed_count)
                qsort(w->delayed, w->delayed_count, sizeof *w->delayed, order_u64);
        for (uint32_t i = 0; i < w->segment_count; i++)
                if (!read_segment(w, w->segments[i]) || !each_page(w, take_page))
                        walk_ends(w->out, w->segments[i], "segment of mimalloc 2.0");
}

/* One that looks like the main heap, without a segment that has its cookie, is that of another
 * build. */
static void find_heap(struct walk *w, const struct search_range *data)
{
        size_t count;
        uint64_t *words = walk_words(w->in, data, DATA_MOST, &count);

        for (size_t i = 0; i + COOKIE < count && !w->out->malloc_at; i++) {
                if (!are_queues(words + i) || !words[i + COOKIE])
                        continue;
                w->cookie = words[i + COOKIE];
                find_segments(w);
                if (w->segment_count)
                        w->out->malloc_at = data->start + 8 * i;
        }
        free(words);
}

void mimalloc_find(struct walk_blocks *b, const struct walk_input *in)
{
        struct walk *w;

        *b = (struct walk_blocks){ 0 };
        if (in->memory.narrow || in->memory.turned)
                return;
        w = heap_zero(1, sizeof *w);
        w->in = in;
        w->out = b;
        w->data = heap_zero(PAGE_MOST, 1);
        w->spare = heap_zero(UINT16_MAX + 1, 1);
        for (uint32_t i = 0; i < in->data_count && !b->malloc_at; i++)
                find_heap(w, &in->data[i]);
        if (b->malloc_at)
                take_all(w);
        walk_sort(b);
        free(w->segments);
        free(w->heaps);
        free(w->delayed);
        free(w->data);
        free(w->spare);
        free(w);
}
