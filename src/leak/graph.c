/* SPDX-License-Identifier: MIT */
/*
 * graph.c -- who holds whom: shortest paths from roots to blocks.
 *
 * Keeps:  of ways with equally many steps the one with fewest interior pointers, of those the first
 *         in the order of the recording.
 */
#include "leak/graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "leak/graph_edges.h"

/* ---- edges ---- */

static uint32_t number_at(const uint32_t *numbers, size_t stride, uint64_t i)
{
        return *(const uint32_t *)((const char *)numbers + i * stride);
}

/* first[n + 1] is where n's members end; while they are put in, where the next one goes. */
struct graph_groups graph_group(uint64_t groups, const struct graph_things *t)
{
        struct graph_groups g = { heap_zero(groups + 2, sizeof *g.first),
                                  heap_zero(t->count, sizeof *g.members) };

        for (uint32_t i = 0; i < t->count; i++)
                g.first[number_at(t->numbers, t->stride, i) + 2]++;
        for (uint64_t i = 2; i <= groups; i++)
                g.first[i] += g.first[i - 1];
        for (uint32_t i = 0; i < t->count; i++)
                g.members[g.first[number_at(t->numbers, t->stride, i) + 1]++] =
                        t->values ? number_at(t->values, t->stride, i) : i;
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

struct graph *graph_new(const struct profile *p)
{
        struct graph *g = heap_zero(1, sizeof *g);
        struct graph_things holds = { .numbers = p->holds ? &p->holds->to : NULL,
                                      .stride = sizeof *p->holds };

        g->p = p;
        g->blocks = (uint32_t)p->block_count;
        g->pointers = at_most(p->pointer_count);
        holds.count = g->hold_count = at_most(p->hold_count);
        g->target = GRAPH_UNSEEN;
        g->holds = graph_group(g->blocks, &holds);
        g->out_first = heap_zero((size_t)g->blocks + 1, sizeof *g->out_first);
        for (uint32_t i = 0; i < g->pointers; i++)
                g->out_first[p->pointers[i].from + 1]++;
        for (uint32_t i = 0; i < g->blocks; i++)
                g->out_first[i + 1] += g->out_first[i];
        return g;
}

static void find_in(struct graph *g)
{
        const struct profile_pointer *pointers = g->p->pointers;
        const struct graph_things things = { .numbers = pointers ? &pointers->to : NULL,
                                             .stride = sizeof *pointers,
                                             .count = g->pointers };

        if (!g->in.first)
                g->in = graph_group(g->blocks, &things);
}

static void wave_free(struct graph_wave *w)
{
        free(w->ways);
        free(w->queue);
        *w = (struct graph_wave){ 0 };
}

void graph_rest(struct graph *g)
{
        wave_free(&g->away);
        wave_free(&g->toward);
        graph_groups_free(&g->in);
        g->target = GRAPH_UNSEEN;
}

void graph_free(struct graph *g)
{
        if (!g)
                return;
        graph_rest(g);
        free(g->out_first);
        graph_groups_free(&g->holds);
        free(g->rank);
        free(g);
}

/* ---- waves ---- */

static void wave_start(struct graph_wave *w, uint32_t blocks)
{
        if (!w->ways) {
                w->ways = heap_zero(blocks, sizeof *w->ways);
                w->queue = heap_zero(blocks, sizeof *w->queue);
        }
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
static struct graph_way wave_longer(struct graph_way way, uint32_t flags, uint32_t via)
{
        way.length++;
        way.interior += (flags & PROFILE_POINTER_INTERIOR) != 0;
        way.via = via;
        return way;
}

/* Levels are whole before the next one begins, as a queue is: the interior pointers of a way do not
 * change any more when it is gone on with. */
static void wave_forward(const struct graph *g, struct graph_wave *w, uint64_t next)
{
        const struct profile_pointer *pointers = g->p->pointers;

        for (; next < w->count; next++) {
                uint32_t block = w->queue[next];

                for (uint32_t i = g->out_first[block]; i < g->out_first[block + 1]; i++)
                        wave_offer(w, pointers[i].to,
                                   wave_longer(w->ways[block], pointers[i].flags, i));
        }
}

static void wave_backward(const struct graph *g, struct graph_wave *w)
{
        const struct profile_pointer *pointers = g->p->pointers;

        for (uint64_t next = 0; next < w->count; next++) {
                uint32_t block = w->queue[next];

                for (uint32_t i = g->in.first[block]; i < g->in.first[block + 1]; i++) {
                        uint32_t via = g->in.members[i];

                        wave_offer(w, pointers[via].from,
                                   wave_longer(w->ways[block], pointers[via].flags, via));
                }
        }
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
                                   wave_longer((struct graph_way){ 0 }, p->holds[i].flags,
                                               i | GRAPH_VIA_HOLD));
        for (uint32_t i = 0; rank == GRAPH_FIRM && i < g->blocks; i++)
                if (graph_ignored(g, i))
                        wave_offer(&g->away, i, (struct graph_way){ GRAPH_UNSEEN, 1, 0 });
        wave_forward(g, &g->away, first);
        for (; first < g->away.count; first++)
                g->rank[g->away.queue[first]] = (uint8_t)rank;
}

void graph_reach(struct graph *g)
{
        if (g->away.ways)
                return;
        if (!g->rank)
                g->rank = heap_zero(g->blocks, sizeof *g->rank);
        memset(g->rank, GRAPH_LOST, g->blocks);
        wave_start(&g->away, g->blocks);
        g->away.settled = g->rank;
        for (int rank = GRAPH_FIRM; rank < GRAPH_LOST; rank++)
                graph_reach_from(g, (enum graph_rank)rank);
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

uint32_t graph_path(struct graph *g, uint32_t block, struct graph_step **steps)
{
        const struct graph_way *ways;
        uint32_t count;

        *steps = NULL;
        graph_reach(g);
        ways = g->away.ways;
        if (ways[block].length == GRAPH_UNSEEN)
                return 0;
        count = ways[block].length;
        *steps = heap_zero(count, sizeof **steps);
        for (uint32_t i = count; i-- > 0;) {
                uint32_t via = ways[block].via;

                (*steps)[i] = (struct graph_step){ block, GRAPH_NONE, GRAPH_NONE };
                if (i)
                        (*steps)[i].pointer = via;
                else if (via != GRAPH_UNSEEN)
                        (*steps)[i].hold = via & ~GRAPH_VIA_HOLD;
                if (i)
                        block = g->p->pointers[via].from;
        }
        return count;
}

/* ---- towards a block ---- */

static const struct graph_way *graph_toward(struct graph *g, uint32_t block)
{
        if (g->target != block) {
                find_in(g);
                wave_start(&g->toward, g->blocks);
                wave_offer(&g->toward, block, (struct graph_way){ GRAPH_UNSEEN, 0, 0 });
                wave_backward(g, &g->toward);
                g->target = block;
        }
        return g->toward.ways;
}

uint32_t graph_distance(struct graph *g, uint64_t hold, uint32_t block)
{
        /* GRAPH_UNSEEN and 1 are 0. */
        return graph_toward(g, block)[g->p->holds[hold].to].length + 1;
}

uint32_t graph_path_below(struct graph *g, uint32_t start, uint32_t block,
                          struct graph_step **steps)
{
        const struct graph_way *ways = graph_toward(g, block);
        uint32_t count;

        *steps = NULL;
        if (ways[start].length == GRAPH_UNSEEN)
                return 0;
        count = ways[start].length + 1;
        *steps = heap_zero(count, sizeof **steps);
        (*steps)[0] = (struct graph_step){ start, GRAPH_NONE, GRAPH_NONE };
        for (uint32_t i = 1; i < count; i++) {
                uint32_t via = ways[(*steps)[i - 1].block].via;

                (*steps)[i] = (struct graph_step){ g->p->pointers[via].to, GRAPH_NONE, via };
        }
        return count;
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

uint64_t graph_pointers_to(struct graph *g, uint32_t block, uint64_t **pointers)
{
        uint32_t first, count;

        find_in(g);
        first = g->in.first[block];
        count = g->in.first[block + 1] - first;
        *pointers = heap_zero(count, sizeof **pointers);
        for (uint32_t i = 0; i < count; i++)
                (*pointers)[i] = g->in.members[first + i];
        return count;
}
