/* SPDX-License-Identifier: MIT */
/*
 * gone.h -- blocks that were freed past seep: live in the ledger, free for the allocator.
 *
 * Room:   outside, in the process that makes a search.
 * Keeps:  a block is gone only where the allocator says so: its memory is unmapped, or it is the
 *         allocator's and in none of the blocks that are in use.
 * Cost:   a walk through the heap, when blocks are lost.  A large heap is walked only when the
 *         agent has seen that something bypasses it, a very large one never.  A fifth more of the
 *         processor's time of a whole run that is nothing but allocation (250,000 blocks).
 */
#ifndef SEEP_SCAN_GONE_H
#define SEEP_SCAN_GONE_H

#include <stdint.h>

#include "attach/freeze.h"
#include "leak/search.h"
#include "ledger/ledger.h"

struct gone_input {
        const struct freeze *freeze;
        const struct ledger_head *head;
        const struct search_graph *graph; /* what a first search said of them */
        struct search_block *blocks;
        const uint32_t *places; /* as in struct search_input */
        uint32_t place_count;
        uint64_t count;
};

/* Blocks that are gone become passages: nothing is said about them.  Others of the same place may
 * have been given to somebody else since: they are ignored.  Returns how many are gone; then the
 * rest is to be searched again. */
uint64_t gone_mark(const struct gone_input *in);

#endif
