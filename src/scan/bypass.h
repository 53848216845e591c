/* SPDX-License-Identifier: MIT */
/*
 * bypass.h -- blocks that were freed or allocated bypassing seep: the ledger and the allocator
 * differ about them.
 *
 * Room:   outside, in the process that makes a search.
 * Keeps:  a block is gone only where the allocator says so: its memory is unmapped, or it is the
 *         allocator's and in none of the blocks that are in use.  A block of the allocator's is
 *         strange only where no block of the search and no root has a byte of it.
 * Cost:   a walk through the heap, when blocks are lost.  A large heap is walked only when the
 *         agent has seen that something bypasses it, a very large one never.  A fifth more of the
 *         processor's time of a whole run that is nothing but allocation (250,000 blocks).
 */
#ifndef SEEP_SCAN_BYPASS_H
#define SEEP_SCAN_BYPASS_H

#include <stdint.h>

#include "attach/freeze.h"
#include "collect/view.h"
#include "leak/search.h"

struct bypass_input {
        const struct freeze *freeze;
        const struct view *view;
        const struct search_graph *graph; /* what a first search said of them */
        struct search_block *blocks;
        const uint32_t *places; /* as in struct search_input */
        uint32_t place_count;
        uint64_t count;
        const struct search_range *roots; /* memory that is one: sorted by its start */
        uint32_t root_count;
};

struct bypass {
        uint64_t gone; /* blocks of the search that the allocator does not have any more */
        struct search_range *strange; /* in use for the allocator, and nothing that we know:
                                       * sorted, disjoint */
        uint64_t strange_count;
        bool expected; /* ... although nothing bypasses seep: what the C library takes for itself
                        * (musl's loader, atexit()), what threads that a fork left behind had got,
                        * or had in their caches, and what backtrace() got in our test mode */
};

/* Fill B, to be freed with bypass_free().  Blocks that are gone become passages: nothing is said
 * about them.  Others of the same place may have been given to somebody else since: they are
 * ignored.  With anything in B, all is to be searched again. */
void bypass_look(struct bypass *b, const struct bypass_input *in);
void bypass_free(struct bypass *b);

#endif
