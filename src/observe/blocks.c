/* SPDX-License-Identifier: MIT */
/*
 * blocks.c -- the blocks that are alive, from the ledger's shadow of the address space.
 *
 * Room:   outside.
 */
#include "observe/blocks.h"

#include <stdlib.h>

#include "base/heap.h"
#include "observe/shadow.h"

struct blocks {
        const uint32_t *site_map;
        uint32_t site_count;
        struct profile *p;
        uint64_t room, senseless;
        uint64_t expected; /* blocks that the counters know of; UINT64_MAX: they cannot be trusted to */
};

static void take(void *context, const struct ledger_block *from, uint64_t address)
{
        struct blocks *b = context;
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
                .address = address,
                .size = LEDGER_BLOCK_SIZE(*from),
                .site = site,
                .thread = thread < p->thread_count ? thread : 0,
                .birth_ms = LEDGER_BLOCK_BIRTH_MS(*from),
        };
}

static bool has_all(void *context, uint64_t looked_at_bytes)
{
        const struct blocks *b = context;

        return b->p->block_count == b->expected && looked_at_bytes >= BLOCKS_ALWAYS_BYTES;
}

static uint64_t expected_blocks(const struct profile *p)
{
        uint64_t blocks = 0;

        for (uint32_t i = 1; i < p->site_count; i++)
                blocks += LEDGER_KIND_IS_HEAP(p->sites[i].kind) ? p->sites[i].live_blocks : 0;
        return blocks;
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
                if (by_address(&p->blocks[i - 1], &p->blocks[i]) > 0) {
                        qsort(p->blocks, p->block_count, sizeof *p->blocks, by_address);
                        return;
                }
}

uint64_t blocks_read(const struct view *v, const uint32_t *site_map, uint32_t site_count, bool ended, struct profile *p)
{
        struct blocks b = { .site_map = site_map, .site_count = site_count, .p = p };
        struct shadow_visitor visitor = { .context = &b, .take = take, .enough = has_all };

        b.expected = ended && !v->head.sample_bytes && !v->head.thin_count ? expected_blocks(p) : UINT64_MAX;
        shadow_walk(v, &visitor);
        sort_blocks(p);
        return b.senseless;
}
