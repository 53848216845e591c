/* SPDX-License-Identifier: MIT */
/*
 * graph.h -- who holds whom, from a recording: paths from roots, and what would go away with a block.
 *
 * Room:   outside.  Made from the graph in a profile (PROFILE_SCAN_GRAPH); used by report/why.c, report/owners.c.
 * Keeps:  blocks by their index in the profile.  Interior pointers hold, too; where there is a choice, pointers to the start go first.
 */
#ifndef SEEP_LEAK_GRAPH_H
#define SEEP_LEAK_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/model.h"

struct graph;

/* P must have a graph, and outlive the result. */
struct graph *graph_new(const struct profile *p);
void graph_free(struct graph *g);

/* One step of a path: the pointer that leads to BLOCK. */
struct graph_step {
        uint32_t block;
        uint64_t hold;    /* first step: index into holds; else UINT64_MAX */
        uint64_t pointer; /* later steps: index into pointers; else UINT64_MAX */
};

/* The shortest path from a root to BLOCK, from the root on.  0 steps: nothing holds it.  *STEPS is to be freed. */
uint32_t graph_path(struct graph *g, uint32_t block, struct graph_step **steps);

/* The same from the root pointer HOLD only (for --all). */
uint32_t graph_path_from(struct graph *g, uint64_t hold, uint32_t block, struct graph_step **steps);

/* Root pointers (indices into holds) from which BLOCK can be reached.  *HOLDS is to be freed. */
uint64_t graph_holders(struct graph *g, uint32_t block, uint64_t **holds);

/* A lost block: the blocks that point to it (indices into pointers). */
uint64_t graph_pointers_to(struct graph *g, uint32_t block, uint64_t **pointers);

/* What would go away with it. */
struct graph_sum {
        uint64_t blocks, bytes; /* with the block itself */
};

/* OWNERS gives each hold a number below OWNER_COUNT: holds with the same number go away together (one variable).  Sums by owner and,
 * unless NULL, by block (of block_count).  Blocks that no root holds are in BY_BLOCK with what hangs on them. */
void graph_retained(struct graph *g, const uint32_t *owners, uint32_t owner_count, struct graph_sum *by_owner, struct graph_sum *by_block);

/* What would go away with all blocks of a set: IN_SET by block.  Counts those that are reachable now and would not be. */
struct graph_sum graph_retained_by(struct graph *g, const uint8_t *in_set);

#endif
