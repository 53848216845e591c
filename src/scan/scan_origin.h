/* SPDX-License-Identifier: MIT */
/*
 * scan_origin.h -- what the recording knows about the blocks of a search: where they were
 * allocated, and which are arrays of no elements.
 *
 * Room:   outside, in the process that makes a search.
 */
#ifndef SEEP_SCAN_SCAN_ORIGIN_H
#define SEEP_SCAN_SCAN_ORIGIN_H

#include <stdint.h>

#include "leak/search.h"
#include "profile/model.h"
#include "scan/scan_blocks.h"

/* The blocks of a search at MOMENT_MS. */
struct scan_origin_input {
        struct search_block *blocks;
        uint64_t count;
        uint32_t moment_ms;
        struct search_memory memory;
};

struct scan_origin {
        uint32_t *block_of; /* by searched block, 1 + the block of the profile; 0 none.  NULL: all
                             * are, in the same order */
        uint32_t *places;   /* by searched block, as in struct search_input; a site of the profile
                             * is a place of that number */
        uint32_t *wider;
        uint32_t place_count;
};

/* Places of E, if that is all blocks of P: those with a place, in their order.  With other blocks
 * between them, or before some are taken out of the list, they must be numbered. */
void scan_origin_take(struct scan_origin *o, struct scan_entries *e, const struct profile *p,
                      uint32_t moment_ms);
void scan_origin_number(struct scan_origin *o, uint64_t count);

/* Fill O, to be freed with scan_origin_free().  Places and numbers may be there already; else they
 * are found by address in P's list of blocks. */
void scan_origin_find(struct scan_origin *o, const struct scan_origin_input *in,
                      const struct profile *p);
void scan_origin_free(struct scan_origin *o);

/* Blocks that new T[0] gave get SEARCH_BLOCK_NO_ELEMENTS. */
void scan_origin_mark_arrays(const struct scan_origin *o, const struct scan_origin_input *in,
                             const struct profile *p);

#endif
