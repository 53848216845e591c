/* SPDX-License-Identifier: MIT */
/*
 * portions.c -- the costs of each stack by the thread that made them, as far as a recording tells.
 *
 * Room:   outside.
 */
#include "export/portions.h"

#include <stdlib.h>

#include "base/heap.h"
#include "profile/packed.h"

enum { NOBODY = 0 }; /* threads[0] of a profile */

struct portioning {
        const struct profile *profile;
        const struct cost_source *source;
        const struct select_part *heap;
        uint32_t *rows; /* by site: 1 + row; 0 not selected */
        uint8_t *doubtful; /* by row: blocks of a thread of which no share tells; those of short threads may be under another's name */
        struct portions found;
};

static int compare(const void *a, const void *b)
{
        const struct portion *x = a, *y = b;

        if (x->row != y->row)
                return x->row < y->row ? -1 : 1;
        return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static void find_rows(struct portioning *g)
{
        const struct selection *sel = g->source->sel;

        g->rows = heap_zero(g->profile->site_count, sizeof *g->rows);
        for (uint32_t i = 0; i < g->heap->count; i++)
                g->rows[g->heap->rows[i].site] = i + 1;
        for (uint32_t i = 0; i < g->profile->site_count; i++)
                g->rows[i] = g->rows[sel->leaders[i]];
}

/* What threads did at sites, those of one thread and row summed. */
static void take_shares(struct portioning *g)
{
        const struct profile *p = g->profile;
        struct portion *at = heap_zero(p->share_count, sizeof *at);
        uint32_t count = 0, kept = 0;

        for (uint32_t i = 0; i < p->share_count; i++) {
                const struct profile_share *share = &p->shares[i];

                if (share->site >= p->site_count || share->thread >= p->thread_count || !g->rows[share->site])
                        continue;
                at[count++] = (struct portion){ g->rows[share->site] - 1,
                                                share->thread,
                                                { { [COST_ALLOC_COUNT] = share->allocs,
                                                    [COST_ALLOC_BYTES] = share->alloc_bytes,
                                                    [COST_TEMP_COUNT] = share->temporary } } };
        }
        qsort(at, count, sizeof *at, compare);
        for (uint32_t i = 0; i < count; i++)
                if (kept && compare(&at[kept - 1], &at[i]) == 0)
                        cost_add(&at[kept - 1].costs, &at[i].costs);
                else
                        at[kept++] = at[i];
        g->found = (struct portions){ at, kept };
}

static bool is_lost(const struct cost_source *source, const struct packed_walk *w)
{
        uint32_t leak = w->verdict ? w->verdict->leak : PROFILE_LEAK_UNKNOWN;

        return source->leaks.silent && !source->leaks.silent[w->index] && (leak == PROFILE_LEAK_DEFINITE || leak == PROFILE_LEAK_INDIRECT);
}

/* What is live, and what is lost, by who allocated it. */
static void take_blocks(struct portioning *g)
{
        const struct profile *p = g->profile;
        struct packed_walk w;

        packed_open(&w, p);
        while (packed_next(&w)) {
                const struct profile_block *block = w.block;
                uint32_t row = block->site < p->site_count ? g->rows[block->site] : 0;
                struct portion key = { .row = row - 1, .thread = block->thread }, *found;
                uint64_t lost = row && is_lost(g->source, &w), times = profile_block_times(p, block);

                found = row ? bsearch(&key, g->found.at, g->found.count, sizeof key, compare) : NULL;
                if (row && !found)
                        g->doubtful[row - 1] = 1;
                if (!found)
                        continue;
                found->costs.of[COST_LIVE_COUNT] += times;
                found->costs.of[COST_LIVE_BYTES] += times * block->size;
                found->costs.of[COST_LEAKED_COUNT] += lost;
                found->costs.of[COST_LEAKED_BYTES] += lost * block->size;
        }
        packed_close(&w);
}

static void add(struct portions *p, const struct portion *portion)
{
        if (cost_any(&portion->costs))
                p->at[p->count++] = *portion;
}

/* The row as one portion: of its only thread, or of nobody. */
static void add_whole(struct portions *made, uint32_t row, const struct costs *costs, uint32_t thread)
{
        add(made, &(struct portion){ row, thread, *costs });
}

/* The parts of each thread, and the rest. */
static void add_parts(struct portions *made, const struct costs *all, const struct portion *parts, uint32_t count)
{
        struct portion rest = { parts->row, NOBODY, *all };

        for (uint32_t i = 0; i < count; i++) {
                for (int k = 0; k < COST_COUNT; k++)
                        rest.costs.of[k] -= parts[i].costs.of[k];
                add(made, &parts[i]);
        }
        add(made, &rest);
}

/* Whether the numbers of the row are those that the shares are of. */
static bool is_divisible(const struct portioning *g, const struct costs *all, const struct portion *parts, uint32_t count)
{
        uint64_t allocs = 0, bytes = 0;

        for (uint32_t i = 0; i < count; i++) {
                allocs += parts[i].costs.of[COST_ALLOC_COUNT];
                bytes += parts[i].costs.of[COST_ALLOC_BYTES];
        }
        return g->source->sel->moment == SELECT_OF_RUN && allocs == all->of[COST_ALLOC_COUNT] && bytes == all->of[COST_ALLOC_BYTES];
}

static void divide(const struct portioning *g, struct portions *made)
{
        uint32_t next = 0;

        for (uint32_t row = 0; row < g->heap->count; row++) {
                struct costs all = cost_of_row(g->source, &g->heap->rows[row]);
                const struct portion *parts = &g->found.at[next];
                uint32_t count = 0;

                for (; next < g->found.count && g->found.at[next].row == row; next++)
                        count++;
                if (count > 1 && !g->doubtful[row] && is_divisible(g, &all, parts, count))
                        add_parts(made, &all, parts, count);
                else
                        add_whole(made, row, &all, count == 1 && !g->doubtful[row] ? parts->thread : NOBODY);
        }
}

void portions_make(struct portions *p, const struct cost_source *source)
{
        struct portioning g = { .profile = source->sel->profile, .source = source, .heap = &source->sel->heap };

        find_rows(&g);
        g.doubtful = heap_zero(g.heap->count, 1);
        take_shares(&g);
        take_blocks(&g);
        *p = (struct portions){ heap_zero((size_t)g.found.count + g.heap->count, sizeof *p->at), 0 };
        divide(&g, p);
        free(g.found.at);
        free(g.rows);
        free(g.doubtful);
}

void portions_free(struct portions *p)
{
        free(p->at);
        *p = (struct portions){ 0 };
}
