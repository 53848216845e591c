/* SPDX-License-Identifier: MIT */
/*
 * graph_path.c -- paths between blocks, and the addresses of the pointers on them.
 *
 * Keeps:  of several pointers from one block to the next, the first that is not interior.
 */
#include "leak/graph.h"

#include <stdlib.h>

#include "base/find.h"
#include "base/heap.h"
#include "leak/graph_edges.h"
#include "profile/packed.h"

enum {
        PATH_SINGLE = 64,   /* pointers that are looked for one by one; more: in a walk over all */
        PATH_LONG = 1 << 20 /* a path that needs the memory of the ways it was found by */
};

void graph_path_free(struct graph_path *path)
{
        free(path->blocks);
        free(path->at);
        free(path->flags);
        *path = (struct graph_path){ 0 };
}

static struct graph_path path_of(uint32_t count)
{
        return (struct graph_path){ .blocks = heap_zero(count, sizeof(uint32_t)), .count = count,
                                    .hold = GRAPH_NONE };
}

struct graph_path graph_path(struct graph *g, uint32_t block)
{
        const struct graph_way *ways;
        struct graph_path path;

        if (graph_rank_of(g, block) == GRAPH_LOST)
                return (struct graph_path){ .hold = GRAPH_NONE };
        graph_reach(g);
        ways = g->away.ways;
        path = path_of(ways[block].length);
        for (uint32_t i = path.count; i-- > 0; block = ways[block].via)
                path.blocks[i] = block;
        if (ways[path.blocks[0]].via != GRAPH_UNSEEN)
                path.hold = ways[path.blocks[0]].via & ~GRAPH_VIA_HOLD;
        return path;
}

struct graph_path graph_path_below(struct graph *g, uint32_t start, uint32_t block)
{
        const struct graph_way *ways = graph_toward(g, block);
        struct graph_path path;

        if (ways[start].length == GRAPH_UNSEEN)
                return (struct graph_path){ .hold = GRAPH_NONE };
        path = path_of(ways[start].length + 1);
        for (uint32_t i = 0; i < path.count; i++, start = ways[start].via)
                path.blocks[i] = start;
        return path;
}

/* ---- where the pointers are ---- */

#define UNKNOWN UINT8_MAX /* flags of a pointer that was not met yet */

/* Pointer Q is in block I - 1 of PATH. */
static void offer(struct graph_path *path, uint32_t i, const struct profile_pointer *q)
{
        if (q->to != path->blocks[i] ||
            (path->flags[i] != UNKNOWN && (!(path->flags[i] & PROFILE_POINTER_INTERIOR) ||
                                           q->flags & PROFILE_POINTER_INTERIOR)))
                return;
        path->at[i] = q->at;
        path->flags[i] = (uint8_t)q->flags;
}

static void name_in_array(const struct profile *p, struct graph_path *path, uint32_t i)
{
        uint32_t from = path->blocks[i - 1];
        uint64_t next = FIND_FIRST(p->pointer_count, k, p->pointers[k].from < from);

        for (; next < p->pointer_count && p->pointers[next].from == from; next++)
                offer(path, i, &p->pointers[next]);
}

static void name_single(struct graph *g, struct graph_path *path, uint32_t i)
{
        uint32_t from = path->blocks[i - 1];
        uint64_t next = g->out.first[from], end = g->out.first[from + 1], count;
        const struct profile_pointer *list;

        while (next < end && (list = packed_run(g->pointers, next, &count)))
                for (uint64_t k = 0; k < count && next < end; k++, next++)
                        offer(path, i, &list[k]);
}

/* A block is on a path once. */
static void name_by_walk(struct graph *g, struct graph_path *path)
{
        uint32_t *step_from = heap_zero(g->blocks, sizeof *step_from);
        const struct profile_pointer *list;
        struct packed_pointers w;
        uint64_t count;

        for (uint32_t i = 1; i < path->count; i++)
                step_from[path->blocks[i - 1]] = i;
        packed_pointers_open(&w, g->p);
        while ((list = packed_pointers_next(&w, &count)))
                for (uint64_t k = 0; k < count; k++)
                        if (list[k].from < g->blocks && step_from[list[k].from])
                                offer(path, step_from[list[k].from], &list[k]);
        packed_pointers_close(&w);
        free(step_from);
}

static void name_pointers(struct graph *g, struct graph_path *path)
{
        bool single = g->out.first && path->count <= PATH_SINGLE;

        if (g->p->pointers) {
                for (uint32_t i = 1; i < path->count; i++)
                        name_in_array(g->p, path, i);
                return;
        }
        if (single && !g->pointers)
                g->pointers = packed_random(g->p, PACKED_POINTERS);
        for (uint32_t i = 1; single && g->pointers && i < path->count; i++)
                name_single(g, path, i);
        if (!single)
                name_by_walk(g, path);
}

void graph_name(struct graph *g, struct graph_path *path)
{
        if (path->at || !path->count)
                return;
        if (path->count > PATH_LONG)
                graph_forget(g);
        path->at = heap_zero(path->count, sizeof *path->at);
        path->flags = heap_zero(path->count, sizeof *path->flags);
        for (uint32_t i = 1; i < path->count; i++)
                path->flags[i] = UNKNOWN;
        if (path->hold != GRAPH_NONE)
                path->flags[0] = (uint8_t)g->p->holds[path->hold].flags;
        name_pointers(g, path);
        for (uint32_t i = 1; i < path->count; i++)
                if (path->flags[i] == UNKNOWN)
                        path->flags[i] = 0;
}
