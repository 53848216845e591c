/* SPDX-License-Identifier: MIT */
/*
 * graph_edges.h -- the edges of the graph of a recording, in both directions.
 *
 * Room:   outside, leak/graph*.c only.
 * Keeps:  pointers by the block that they are in, and by the block that they lead to, are lists of
 *         blocks, 4 bytes a pointer.  Each is made when it is needed; in a large graph the other
 *         one goes.
 */
#ifndef SEEP_LEAK_GRAPH_EDGES_H
#define SEEP_LEAK_GRAPH_EDGES_H

#include <stddef.h>

#include "leak/graph.h"

#define GRAPH_UNSEEN UINT32_MAX

/* Blocks, pointers and holds have numbers of 31 bits here; what is more is not looked at. */
#define GRAPH_MOST INT32_MAX

/* The shortest way to (or from) a block. */
struct graph_way {
        uint32_t via;      /* the block before it on the way (or behind), or with GRAPH_VIA_HOLD an
                            * index into holds; GRAPH_UNSEEN */
        uint32_t length;   /* pointers; GRAPH_UNSEEN: no way was found */
        uint32_t interior; /* how many of them are interior */
};
#define GRAPH_VIA_HOLD (UINT32_C(1) << 31)

/* Ways to many blocks, found level by level. */
struct graph_wave {
        struct graph_way *ways; /* by block */
        uint32_t *queue;
        uint64_t count; /* in the queue: met so far */
        const uint8_t *settled; /* by block: GRAPH_LOST, or it was met from a firmer root and its
                                 * way stays; NULL: all may change */
};

/* Things by a number that each has: those with number n are members[first[n]] to members[first[n +
 * 1]], in their old order. */
struct graph_groups {
        uint32_t *first, *members;
};

/* In a member of OUT and IN, which are blocks. */
#define GRAPH_INTERIOR (UINT32_C(1) << 31)
#define GRAPH_BLOCK(member) ((member) & ~GRAPH_INTERIOR)

struct graph {
        const struct profile *p;
        struct dense dense;
        uint32_t blocks, hold_count;
        bool large; /* not everything may be there at once */
        struct graph_groups out;   /* by block: those that it points to */
        struct graph_groups in;    /* ... and those that point to it */
        struct graph_groups holds; /* root pointers by the block they point to */
        struct graph_wave away; /* from all roots */
        uint8_t *rank;          /* by block: enum graph_rank */
        struct graph_wave toward; /* to the block asked for last */
        uint32_t target;          /* that block; GRAPH_UNSEEN none */
        struct packed_reader *pointers; /* for single ones */
};

/* COUNT things with a number each, which is below GROUPS. */
struct graph_groups graph_group(uint64_t groups, const uint32_t *numbers, uint32_t count);
void graph_groups_free(struct graph_groups *g);

/* Room for COUNT things in GROUPS groups; then graph_groups_count() for each, graph_groups_begin(),
 * and graph_groups_put() for each. */
struct graph_groups graph_groups_new(uint64_t groups, uint64_t count);

static inline void graph_groups_count(struct graph_groups *g, uint32_t group)
{
        g->first[group + 2]++;
}

void graph_groups_begin(struct graph_groups *g, uint64_t groups);

static inline void graph_groups_put(struct graph_groups *g, uint32_t group, uint32_t member)
{
        g->members[g->first[group + 1]++] = member;
}

/* Make OUT, unless it is there. */
void graph_need_out(struct graph *g);

/* What can be found again is given back: ways, and pointers by the block they point to. */
void graph_rest(struct graph *g);

static inline bool graph_ignored(struct graph *g, uint32_t block)
{
        return dense_ignored(&g->dense, block);
}

/* Ways from any block to BLOCK. */
const struct graph_way *graph_toward(struct graph *g, uint32_t block);

/* The ways from roots, and OUT in a large graph, are not needed any more. */
void graph_forget(struct graph *g);

/* Find away and rank, or rank alone, unless done. */
void graph_reach(struct graph *g);
void graph_find_ranks(struct graph *g);

#endif
