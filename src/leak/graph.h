/* SPDX-License-Identifier: MIT */
/*
 * graph.h -- the graph of pointers in a recording: paths from roots, and what would be freed with a
 * block.
 *
 * Keeps:  blocks by their index in the profile.  Interior pointers hold, too; where there is a
 *         choice, pointers to the start go first.  Variables go before stacks: what a variable
 *         holds belongs to it, whoever else has the address in a register or (perhaps for the last
 *         time long ago) wrote it to the stack.
 * Cost:   1 million blocks, 5 million pointers that lead anywhere: paths 0.4 s, retained sizes 1.5
 *         s; 3 million as real heaps have them: 0.5 s.  Memory, at the most: 32 bytes for a
 *         block and 4 for a pointer.
 */
#ifndef SEEP_LEAK_GRAPH_H
#define SEEP_LEAK_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/dense.h"
#include "profile/model.h"

struct graph;

/* P must have a graph, and outlive the result. */
struct graph *graph_new(const struct profile *p);
void graph_free(struct graph *g);

/* How much the pointers of a root tell, the firmest first: what is held from a firm one is not
 * asked who else holds it. */
enum graph_rank {
        GRAPH_FIRM,    /* variables, mappings, SEEP_ROOT; also blocks under SEEP_IGNORE */
        GRAPH_PASSING, /* stacks and registers */
        GRAPH_VAGUE,   /* memory of unknown origin */
        GRAPH_LOST     /* no root at all */
};
enum graph_rank graph_rank(uint32_t root_kind);

/* The firmest that holds BLOCK. */
enum graph_rank graph_rank_of(struct graph *g, uint32_t block);

/* A path: blocks, each with a pointer to the next one. */
#define GRAPH_NONE UINT64_MAX
struct graph_path {
        uint32_t *blocks;
        uint32_t count;
        uint64_t hold;  /* root pointer to the first block (index into holds); GRAPH_NONE: none */
        uint64_t *at;   /* graph_name(): where in the block before the pointer is ... */
        uint8_t *flags; /* ... and PROFILE_POINTER_*; of the first block, of its hold */
};
void graph_path_free(struct graph_path *path);

/* The shortest path from a root of the firmest kind there is to BLOCK, from the root on.
 * 0 blocks: nothing holds it.  Without a hold: the first block is under SEEP_IGNORE. */
struct graph_path graph_path(struct graph *g, uint32_t block);

/* The same from the block START, which is the first (for lost blocks). */
struct graph_path graph_path_below(struct graph *g, uint32_t start, uint32_t block);

/* Find the pointers of PATH. */
void graph_name(struct graph *g, struct graph_path *path);

/* How many blocks the path from the root pointer HOLD has; 0: it leads elsewhere. */
uint32_t graph_distance(struct graph *g, uint64_t hold, uint32_t block);

/* Root pointers (indices into holds) from which BLOCK can be reached.  *HOLDS is to be freed. */
uint64_t graph_holders(struct graph *g, uint32_t block, uint64_t **holds);

/* How many pointers in other blocks lead to this one. */
uint64_t graph_pointers_to(struct graph *g, uint32_t block);

/* What is known of single blocks. */
struct dense *graph_dense(struct graph *g);

struct graph_sum {
        uint64_t blocks, bytes;
};

/* Holds with the same owner go away together (one variable); all of an owner are of one rank. */
struct graph_owners {
        const uint32_t *of_hold;
        uint32_t count;
};

/* What would go away with it.  by_owner[i], shared, ignored and lost add up to all blocks. */
enum { GRAPH_BY_IGNORE, GRAPH_BY_SEVERAL, GRAPH_BY_NOBODY, GRAPH_BY_COUNT };

/* Blocks held by several owners, of which none keeps them alone: those of one site. */
struct graph_part {
        uint32_t block;        /* that keeps most of them ... */
        struct graph_sum most; /* ... with itself */
        uint32_t heads;        /* blocks of the site that this begins with; 0: none */
        struct graph_sum kept; /* by all of these */
};

struct graph_retained {
        struct graph_sum *by_owner;
        uint32_t *owner_of; /* by block: who alone keeps it, a number of owners; or behind them
                             * GRAPH_BY_IGNORE, GRAPH_BY_SEVERAL, GRAPH_BY_NOBODY.  NULL
                             * unless it was asked for */
        struct graph_sum *asked;    /* of each block that was asked for, with the block itself; of
                                     * lost blocks, what hangs on them only */
        struct graph_sum *by_site;  /* at least: what some block of it keeps alone.  NULL
                                     * unless it was asked for */
        struct graph_sum shared;    /* held by several owners, none of which keeps it alone ... */
        struct graph_part *parts;   /* ... by site */
        struct graph_sum ignored;   /* SEEP_IGNORE */
        struct graph_sum lost;
};

/* What is to be found besides. */
struct graph_wish {
        const uint32_t *blocks; /* ASKED of them */
        uint32_t count;
        bool owner_of, by_site;
};

/* Fill OUT, the caller's to graph_retained_free(). */
void graph_retain(struct graph *g, const struct graph_owners *owners,
                  const struct graph_wish *wish, struct graph_retained *out);
void graph_retained_free(struct graph_retained *r);

/* What would go away with all blocks of SITE.  Counts those that are held now and would not be, or
 * only from roots that tell less. */
struct graph_sum graph_retained_by(struct graph *g, uint32_t site);

#endif
