/* SPDX-License-Identifier: MIT */
/*
 * blocks.c -- the blocks that are alive, from the ledger's shadow of the address space.
 *
 * Room:   outside.
 * Cost:   proportional to the pages of the shadow that were ever touched (0.3 ms per MiB); holes are skipped.
 */
#include "observe/blocks.h"

#include <stdlib.h>

#include "base/heap.h"

#define BLOCKS_AT_ONCE 4096u /* entries read in one go: 64 KiB stay in the cache */

/* Bytes [at, end) of the shadow hold data. */
struct stretch {
        uint64_t at, end;
};

struct blocks {
        const struct view *view;
        const uint32_t *site_map;
        uint32_t site_count;
        struct profile *p;
        uint64_t room, senseless;
        struct ledger_block *part;

        struct stretch *stretch; /* in the order of the file */
        uint32_t stretch_count;
        uint64_t expected; /* blocks that the counters know of; UINT64_MAX: they cannot be trusted to */
        uint64_t looked_at_bytes;
};

struct numbered_chunk {
        struct ledger_chunk chunk;
        uint32_t index;
};

static void take(struct blocks *b, const struct ledger_block *from, uint64_t address)
{
        struct profile *p = b->p;
        uint32_t raw = LEDGER_BLOCK_SITE(*from), thread = LEDGER_BLOCK_THREAD(*from);
        uint32_t site = raw < b->site_count ? b->site_map[raw] : 0;

        if (raw == 0 && LEDGER_BLOCK_KIND(*from) == LEDGER_KIND_NONE)
                return; /* an allocator's own */
        if (site == 0) {
                b->senseless++;
                return;
        }
        if (p->block_count == b->room) {
                b->room = b->room ? b->room * 2 : 4096;
                p->blocks = heap_grow(p->blocks, b->room, sizeof *p->blocks);
        }
        p->blocks[p->block_count++] = (struct profile_block){
                .address = address + 8 * LEDGER_BLOCK_SUB(*from),
                .size = LEDGER_BLOCK_SIZE(*from),
                .site = site,
                .thread = thread < p->thread_count ? thread : 0,
                .birth_ms = LEDGER_BLOCK_BIRTH_MS(*from),
        };
}

/* Entries of bytes [AT, END) of the shadow, which lie in chunk C. */
static void take_stretch(struct blocks *b, const struct numbered_chunk *c, uint64_t at, uint64_t end)
{
        uint64_t first = c->index * (uint64_t)LEDGER_SHADOW_CHUNK_BYTES;

        at -= (at - first) % sizeof *b->part;
        while (at < end) {
                uint64_t count = (end - at) / sizeof *b->part;
                uint64_t entry = (at - first) / sizeof *b->part;

                if (count > BLOCKS_AT_ONCE)
                        count = BLOCKS_AT_ONCE;
                if (count == 0)
                        return;
                view_read(b->view, LEDGER_SHADOW, at, b->part, count * sizeof *b->part);
                for (uint64_t i = 0; i < count; i++)
                        if (LEDGER_BLOCK_LIVE(b->part[i]))
                                take(b, &b->part[i], c->chunk.base + (entry + i) * LEDGER_SHADOW_GRANULE);
                at += count * sizeof *b->part;
        }
}

/* Asking for the end of a stretch costs as much as it is long, so that it is done once for all chunks in it. */
static void find_stretches(struct blocks *b)
{
        uint64_t at = 0, end, room = 0;

        while ((end = view_data(b->view, LEDGER_SHADOW, &at, UINT64_MAX)) != 0) {
                if (b->stretch_count == room) {
                        room = room ? room * 2 : 64;
                        b->stretch = heap_grow(b->stretch, room, sizeof *b->stretch);
                }
                b->stretch[b->stretch_count++] = (struct stretch){ at, end };
                at = end;
        }
}

/* The first stretch that ends after AT. */
static uint32_t find_stretch(const struct blocks *b, uint64_t at)
{
        uint32_t low = 0, high = b->stretch_count;

        while (low < high) {
                uint32_t middle = low + (high - low) / 2;

                if (b->stretch[middle].end <= at)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

static void take_chunk(struct blocks *b, const struct numbered_chunk *c)
{
        uint64_t first = c->index * (uint64_t)LEDGER_SHADOW_CHUNK_BYTES, last = first + LEDGER_SHADOW_CHUNK_BYTES;

        for (uint32_t i = find_stretch(b, first); i < b->stretch_count && b->stretch[i].at < last; i++) {
                uint64_t at = b->stretch[i].at > first ? b->stretch[i].at : first;
                uint64_t end = b->stretch[i].end < last ? b->stretch[i].end : last;

                take_stretch(b, c, at, end);
                b->looked_at_bytes += end - at;
        }
}

static bool has_all(const struct blocks *b)
{
        return b->p->block_count == b->expected && b->looked_at_bytes >= BLOCKS_ALWAYS_BYTES;
}

static uint64_t expected_blocks(const struct profile *p)
{
        uint64_t blocks = 0;

        for (uint32_t i = 1; i < p->site_count; i++)
                blocks += LEDGER_KIND_IS_HEAP(p->sites[i].kind) ? p->sites[i].live_blocks : 0;
        return blocks;
}

static int by_base(const void *a, const void *b)
{
        const struct numbered_chunk *x = a, *y = b;

        if (x->chunk.base != y->chunk.base)
                return x->chunk.base < y->chunk.base ? -1 : 1;
        return (x->index > y->index) - (x->index < y->index);
}

/* Chunks in the order of their addresses, so that blocks come out sorted unless planes overlap. */
static struct numbered_chunk *sorted_chunks(const struct view *v, uint32_t *count)
{
        struct ledger_chunk *raw;
        struct numbered_chunk *chunks;
        uint32_t total = v->head.shadow_chunk_count, used = 0;

        raw = view_table(v, LEDGER_CHUNKS, &total, sizeof *raw);
        chunks = heap_zero(total, sizeof *chunks);
        for (uint32_t i = 0; i < total; i++)
                if (raw[i].ready)
                        chunks[used++] = (struct numbered_chunk){ raw[i], i };
        free(raw);
        qsort(chunks, used, sizeof *chunks, by_base);
        *count = used;
        return chunks;
}

static int by_address(const void *a, const void *b)
{
        const struct profile_block *x = a, *y = b;

        if (x->address != y->address)
                return x->address < y->address ? -1 : 1;
        return (x->size < y->size) - (x->size > y->size); /* an arena, then what was carved from it */
}

static void sort_blocks(struct profile *p)
{
        for (uint64_t i = 1; i < p->block_count; i++)
                if (p->blocks[i - 1].address > p->blocks[i].address) {
                        qsort(p->blocks, p->block_count, sizeof *p->blocks, by_address);
                        return;
                }
}

uint64_t blocks_read(const struct view *v, const uint32_t *site_map, uint32_t site_count, bool ended, struct profile *p)
{
        struct blocks b = { .view = v, .site_map = site_map, .site_count = site_count, .p = p };
        struct numbered_chunk *chunks;
        uint32_t count;

        b.part = heap_zero(BLOCKS_AT_ONCE, sizeof *b.part);
        b.expected = ended ? expected_blocks(p) : UINT64_MAX;
        find_stretches(&b);
        chunks = sorted_chunks(v, &count);
        for (uint32_t i = 0; i < count && !has_all(&b); i++)
                take_chunk(&b, &chunks[i]);
        sort_blocks(p);
        free(chunks);
        free(b.stretch);
        free(b.part);
        return b.senseless;
}
