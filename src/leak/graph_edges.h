/* SPDX-License-Identifier: MIT */
/*
 * graph_edges.h -- the graph of a recording, both ways.
 *
 * Room:   outside, leak/graph*.c only.
 */
#ifndef SEEP_LEAK_GRAPH_EDGES_H
#define SEEP_LEAK_GRAPH_EDGES_H

#include <stddef.h>

#include "leak/graph.h"

#define GRAPH_UNSEEN UINT32_MAX

/* Pointers and holds have numbers of 32 bits here, half as large as in the profile: what is more
 * does not fit into memory as a profile either. */
#define GRAPH_MOST INT32_MAX

/* The shortest way to (or from) a block. */
struct graph_way {
        uint32_t via;      /* the pointer at its end: index into pointers, or with GRAPH_VIA_HOLD
                            * into holds; GRAPH_UNSEEN */
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

struct graph {
        const struct profile *p;
        uint32_t blocks, pointers, hold_count;
        uint32_t *out_first; /* pointers of block b: p->pointers[out_first[b]] to [out_first[b +
                              * 1]] */
        struct graph_groups in;    /* pointers by the block they point to; empty until it is asked
                                    * for */
        struct graph_groups holds; /* root pointers by the block they point to */
        struct graph_wave away; /* from all roots */
        uint8_t *rank;          /* by block: enum graph_rank */
        struct graph_wave toward; /* to the block asked for last */
        uint32_t target;          /* that block; GRAPH_UNSEEN none */
};

/* COUNT things, each with two numbers that are STRIDE bytes after those of the one before: what it
 * belongs to, below GROUPS, and what stands for it there; NULL: its index. */
struct graph_things {
        const uint32_t *numbers, *values;
        size_t stride;
        uint32_t count;
};
struct graph_groups graph_group(uint64_t groups, const struct graph_things *things);
void graph_groups_free(struct graph_groups *g);

/* What can be found again is given back: ways, and pointers by the block they point to. */
void graph_rest(struct graph *g);

static inline bool graph_ignored(const struct graph *g, uint32_t block)
{
        return block < g->p->verdict_count &&
               (g->p->verdicts[block].flags & PROFILE_VERDICT_IGNORED);
}

/* Find away and rank, or rank alone, unless done. */
void graph_reach(struct graph *g);
void graph_find_ranks(struct graph *g);

#endif
