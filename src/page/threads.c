/* SPDX-License-Identifier: MIT */
/* threads.c -- the threads that allocated, and what each did at each call stack. */
#include <stdlib.h>

#include "page/page_parts.h"
#include "base/lookup.h"
#include "profile/packed.h"

enum { SHARE_ALLOCS = 2, SHARE_ALLOC_BYTES, SHARE_FREES, SHARE_FREE_BYTES, SHARE_TEMPORARY,
       SHARE_LIVE_BLOCKS, SHARE_LIVE_BYTES };

struct shares {
        struct page *g;
        struct grid grid;
        struct lookup known; /* by row of the sites and thread: 1 + row of the grid */
};

/* The cells of what THREAD did at SITE, shared by all sites that were cut; NULL: it is not in the
 * page. */
static int64_t *share_of(struct shares *s, uint32_t site, uint32_t thread)
{
        int64_t row = page_row(s->g, site), *cells;
        uint32_t *number;

        if (row == GRID_NONE || thread >= s->g->p->thread_count)
                return NULL;
        number = lookup_pair(&s->known, (uint64_t)row, thread);
        if (*number)
                return s->grid.cells + (size_t)(*number - 1) * s->grid.columns;
        *number = (uint32_t)s->grid.count + 1;
        cells = grid_add(&s->grid);
        cells[0] = row;
        cells[1] = thread;
        return cells;
}

static void add_live(struct shares *s, uint32_t site, uint32_t thread, uint64_t blocks,
                     uint64_t bytes)
{
        int64_t *cells = share_of(s, site, thread);

        if (!cells)
                return;
        grid_sum(&cells[SHARE_LIVE_BLOCKS], blocks);
        grid_sum(&cells[SHARE_LIVE_BYTES], bytes);
}

static void write_shares(struct page *g)
{
        const struct profile *p = g->p;
        struct shares s = { .g = g };
        struct packed_walk w;

        grid_start(&s.grid,
                   "site thread allocs alloc_bytes frees free_bytes temporary live_blocks "
                   "live_bytes");
        for (uint32_t i = 0; i < p->share_count; i++) {
                const struct profile_share *share = &p->shares[i];
                int64_t *cells = share_of(&s, share->site, share->thread);

                if (!cells)
                        continue;
                grid_sum(&cells[SHARE_ALLOCS], share->allocs);
                grid_sum(&cells[SHARE_ALLOC_BYTES], share->alloc_bytes);
                grid_sum(&cells[SHARE_FREES], share->frees);
                grid_sum(&cells[SHARE_FREE_BYTES], share->free_bytes);
                grid_sum(&cells[SHARE_TEMPORARY], share->temporary);
        }
        packed_open(&w, p);
        while (packed_next(&w)) {
                uint64_t times = profile_block_times(p, w.block);

                add_live(&s, w.block->site, w.block->thread, times, times * w.block->size);
        }
        packed_close(&w);
        for (uint32_t i = 0; i < p->region_count; i++)
                add_live(&s, p->regions[i].site, p->regions[i].thread, 1,
                         p->regions[i].end - p->regions[i].start);
        page_table(g, "shares", &s.grid);
        lookup_free(&s.known);
}

enum { LAST_UNKNOWN, LAST_EARLIER, LAST_AT_END };

/* How long THREAD was there whose end was not seen: the threads of the last search tell. */
static int last_of(const struct profile *p, const struct profile_thread *thread)
{
        const struct profile_scan *scan = profile_scanned(p);

        if (thread->end_ms)
                return LAST_EARLIER;
        if (thread->tid && thread->tid == p->meta.pid)
                return LAST_AT_END;
        if (!thread->tid || !scan || !PROFILE_SCAN_IS_LAST(scan->when) || !p->root_count)
                return LAST_UNKNOWN;
        for (uint32_t i = 0; i < p->root_count; i++)
                if (p->roots[i].tid == thread->tid)
                        return LAST_AT_END;
        return LAST_EARLIER;
}

void page_write_threads(struct page *g)
{
        struct grid t;

        grid_start(&t, "tid name start_ms end_ms last allocations bytes_allocated live_blocks "
                       "live_bytes");
        for (uint32_t i = 0; i < g->p->thread_count; i++) {
                const struct profile_thread *thread = &g->p->threads[i];

                GRID_ROW(&t, thread->tid, lexicon_of(&g->lexicon, thread->name),
                         (int64_t)thread->start_ms, (int64_t)thread->end_ms, last_of(g->p, thread),
                         (int64_t)thread->allocations, (int64_t)thread->bytes_allocated,
                         (int64_t)thread->live_blocks, (int64_t)thread->live_bytes);
        }
        page_table(g, "threads", &t);
        write_shares(g);
}
