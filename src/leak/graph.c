/* SPDX-License-Identifier: MIT */
/*
 * graph.c -- who holds whom: shortest ways from roots to blocks.
 *
 * Keeps:  of ways with equally many steps the one with fewest interior pointers, of those the first
 *         in the order of the recording.
 */
#include "leak/graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "leak/graph_edges.h"
#include "profile/packed.h"

/* ---- edges ---- */

/* first[n + 1] is where n's members end; while they are put in, where the next one goes. */
struct graph_groups graph_groups_new(uint64_t groups, uint64_t count)
{
        return (struct graph_groups){ heap_zero(groups + 2, sizeof(uint32_t)),
                                      heap_zero(count, sizeof(uint32_t)) };
}

void graph_groups_begin(struct graph_groups *g, uint64_t groups)
{
        for (uint64_t i = 2; i <= groups; i++)
                g->first[i] += g->first[i - 1];
}

struct graph_groups graph_group(uint64_t groups, const uint32_t *numbers, uint32_t count)
{
        struct graph_groups g = graph_groups_new(groups, count);

        for (uint32_t i = 0; i < count; i++)
                graph_groups_count(&g, numbers[i]);
        graph_groups_begin(&g, groups);
        for (uint32_t i = 0; i < count; i++)
                graph_groups_put(&g, numbers[i], i);
        return g;
}

void graph_groups_free(struct graph_groups *g)
{
        free(g->first);
        free(g->members);
        *g = (struct graph_groups){ 0 };
}

static uint32_t at_most(uint64_t count)
{
        return (uint32_t)(count < GRAPH_MOST ? count : GRAPH_MOST);
}

/* With as many blocks and pointers as a graph of 128 MiB has, what is not needed now goes. */
#define GRAPH_LARGE (1u << 23)

struct graph *graph_new(const struct profile *p)
{
        struct graph *g = heap_zero(1, sizeof *g);

        g->p = p;
        dense_open(&g->dense, p);
        g->blocks = at_most(p->block_count);
        g->hold_count = at_most(p->hold_count);
        g->large = p->block_count + p->pointer_count > GRAPH_LARGE;
        g->target = GRAPH_UNSEEN;
        g->holds = graph_groups_new(g->blocks, g->hold_count);
        for (uint32_t i = 0; i < g->hold_count; i++)
                graph_groups_count(&g->holds, p->holds[i].to);
        graph_groups_begin(&g->holds, g->blocks);
        for (uint32_t i = 0; i < g->hold_count; i++)
                graph_groups_put(&g->holds, p->holds[i].to, i);
        return g;
}

struct dense *graph_dense(struct graph *g)
{
        return &g->dense;
}

static void wave_free(struct graph_wave *w)
{
        free(w->ways);
        free(w->queue);
        *w = (struct graph_wave){ 0 };
}

/* Pointers are in the order of the blocks that they are in. */
void graph_need_out(struct graph *g)
{
        const struct profile_pointer *list;
        struct packed_pointers w;
        uint64_t count, made = 0, most = at_most(g->p->pointer_count);

        if (g->out.first)
                return;
        if (g->large) {
                wave_free(&g->toward);
                g->target = GRAPH_UNSEEN;
                graph_groups_free(&g->in);
        }
        g->out = graph_groups_new(g->blocks, most);
        packed_pointers_open(&w, g->p);
        while ((list = packed_pointers_next(&w, &count)))
                for (uint64_t i = 0; i < count && made < most; i++) {
                        bool interior = list[i].flags & PROFILE_POINTER_INTERIOR;

                        g->out.members[made++] = list[i].to | (interior ? GRAPH_INTERIOR : 0);
                        g->out.first[list[i].from + 1]++;
                }
        packed_pointers_close(&w);
        for (uint32_t i = 0; i < g->blocks; i++)
                g->out.first[i + 1] += g->out.first[i];
}

static void need_in(struct graph *g)
{
        if (g->in.first)
                return;
        graph_need_out(g);
        if (g->large)
                wave_free(&g->away);
        g->in = graph_groups_new(g->blocks, g->out.first[g->blocks]);
        for (uint32_t i = 0; i < g->out.first[g->blocks]; i++)
                graph_groups_count(&g->in, GRAPH_BLOCK(g->out.members[i]));
        graph_groups_begin(&g->in, g->blocks);
        for (uint32_t from = 0; from < g->blocks; from++)
                for (uint32_t i = g->out.first[from]; i < g->out.first[from + 1]; i++) {
                        uint32_t to = g->out.members[i];

                        graph_groups_put(&g->in, GRAPH_BLOCK(to), from | (to & GRAPH_INTERIOR));
                }
        if (g->large)
                graph_groups_free(&g->out);
}

void graph_rest(struct graph *g)
{
        wave_free(&g->away);
        wave_free(&g->toward);
        graph_groups_free(&g->in);
        g->target = GRAPH_UNSEEN;
        if (g->large)
                dense_rest(&g->dense);
}

void graph_forget(struct graph *g)
{
        wave_free(&g->away);
        if (g->large)
                graph_groups_free(&g->out);
}

void graph_free(struct graph *g)
{
        if (!g)
                return;
        graph_rest(g);
        dense_close(&g->dense);
        graph_groups_free(&g->out);
        graph_groups_free(&g->holds);
        if (g->pointers)
                packed_random_free(g->pointers);
        free(g->rank);
        free(g);
}

/* ---- waves ---- */

static void wave_start(struct graph_wave *w, uint32_t blocks)
{
        if (!w->ways)
                w->ways = heap_zero(blocks, sizeof *w->ways);
        if (!w->queue)
                w->queue = heap_zero(blocks, sizeof *w->queue);
        for (uint32_t i = 0; i < blocks; i++)
                w->ways[i].length = GRAPH_UNSEEN;
        w->count = 0;
}

static void wave_offer(struct graph_wave *w, uint32_t block, struct graph_way way)
{
        struct graph_way *known = &w->ways[block];

        if (w->settled && w->settled[block] != GRAPH_LOST)
                return;
        if (known->length == GRAPH_UNSEEN)
                w->queue[w->count++] = block;
        else if (known->length != way.length || known->interior <= way.interior)
                return;
        *known = way;
}

/* WAY and one pointer more. */
static struct graph_way wave_longer(struct graph_way way, bool interior, uint32_t via)
{
        way.length++;
        way.interior += interior;
        way.via = via;
        return way;
}

/* Along EDGES, from what is in the queue at NEXT on.  Levels are whole before the next one begins:
 * the interior pointers of a way do not change any more when it is gone on with. */
static void wave_spread(const struct graph_groups *edges, struct graph_wave *w, uint64_t next)
{
        for (; next < w->count; next++) {
                uint32_t block = w->queue[next];

                for (uint32_t i = edges->first[block]; i < edges->first[block + 1]; i++)
                        wave_offer(w, GRAPH_BLOCK(edges->members[i]),
                                   wave_longer(w->ways[block], edges->members[i] & GRAPH_INTERIOR,
                                               block));
        }
}

/* All were met. */
static void wave_end(struct graph_wave *w)
{
        free(w->queue);
        w->queue = NULL;
}

/* ---- from roots ---- */

enum graph_rank graph_rank(uint32_t root_kind)
{
        switch (root_kind) {
        case PROFILE_ROOT_STACK:
        case PROFILE_ROOT_REGISTER:
        case PROFILE_ROOT_PENDING:
                return GRAPH_PASSING;
        case PROFILE_ROOT_OTHER:
                return GRAPH_VAGUE;
        default:
                return GRAPH_FIRM;
        }
}

static void graph_reach_from(struct graph *g, enum graph_rank rank)
{
        const struct profile *p = g->p;
        uint64_t first = g->away.count;

        for (uint32_t i = 0; i < g->hold_count; i++)
                if (graph_rank(p->roots[p->holds[i].from].kind) == rank)
                        wave_offer(&g->away, p->holds[i].to,
                                   wave_longer((struct graph_way){ 0 },
                                               p->holds[i].flags & PROFILE_POINTER_INTERIOR,
                                               i | GRAPH_VIA_HOLD));
        for (uint32_t i = 0; rank == GRAPH_FIRM && i < g->blocks; i++)
                if (graph_ignored(g, i))
                        wave_offer(&g->away, i, (struct graph_way){ GRAPH_UNSEEN, 1, 0 });
        wave_spread(&g->out, &g->away, first);
        for (; first < g->away.count; first++)
                g->rank[g->away.queue[first]] = (uint8_t)rank;
}

void graph_reach(struct graph *g)
{
        if (g->away.ways)
                return;
        graph_need_out(g);
        if (!g->rank)
                g->rank = heap_zero(g->blocks, sizeof *g->rank);
        memset(g->rank, GRAPH_LOST, g->blocks);
        wave_start(&g->away, g->blocks);
        g->away.settled = g->rank;
        for (int rank = GRAPH_FIRM; rank < GRAPH_LOST; rank++)
                graph_reach_from(g, (enum graph_rank)rank);
        wave_end(&g->away);
}

/* Ways are found again by who asks for them. */
void graph_find_ranks(struct graph *g)
{
        if (g->rank)
                return;
        graph_reach(g);
        wave_free(&g->away);
}

enum graph_rank graph_rank_of(struct graph *g, uint32_t block)
{
        graph_find_ranks(g);
        return (enum graph_rank)g->rank[block];
}

/* ---- towards a block ---- */

const struct graph_way *graph_toward(struct graph *g, uint32_t block)
{
        if (g->target != block) {
                need_in(g);
                wave_start(&g->toward, g->blocks);
                wave_offer(&g->toward, block, (struct graph_way){ GRAPH_UNSEEN, 0, 0 });
                wave_spread(&g->in, &g->toward, 0);
                wave_end(&g->toward);
                g->target = block;
        }
        return g->toward.ways;
}

uint32_t graph_distance(struct graph *g, uint64_t hold, uint32_t block)
{
        /* GRAPH_UNSEEN and 1 are 0. */
        return graph_toward(g, block)[g->p->holds[hold].to].length + 1;
}

uint64_t graph_holders(struct graph *g, uint32_t block, uint64_t **holds)
{
        const struct graph_way *ways = graph_toward(g, block);
        uint64_t count = 0;

        *holds = heap_zero(g->hold_count, sizeof **holds);
        for (uint32_t i = 0; i < g->hold_count; i++)
                if (ways[g->p->holds[i].to].length != GRAPH_UNSEEN)
                        (*holds)[count++] = i;
        return count;
}

uint64_t graph_pointers_to(struct graph *g, uint32_t block)
{
        need_in(g);
        return g->in.first[block + 1] - g->in.first[block];
}
