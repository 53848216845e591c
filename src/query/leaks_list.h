/* SPDX-License-Identifier: MIT */
/*
 * leaks_list.h -- each lost block, in the order of the report.
 *
 * Keeps:  by class, then the largest with what hangs on it, or the oldest, first.
 * Cost:   20 bytes for each block of the recording, 12 more while they are sorted by age.  Blocks
 *         themselves are unpacked some at a time: whoever goes through the list from its start to
 *         its end pays a pass over all of them for each LEAKS_AT_ONCE.
 */
#ifndef SEEP_QUERY_LEAKS_LIST_H
#define SEEP_QUERY_LEAKS_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/dense.h"
#include "query/leaks.h"

#define LEAKS_AT_ONCE (1u << 19)

struct leaks_listed {
        uint32_t index; /* of the block */
        struct profile_block block;
        struct profile_verdict verdict;
        struct leaks_sum hanging; /* on it */
};

struct leaks_list {
        const struct profile *p;
        uint32_t *blocks; /* their numbers, in order; may be put into another one */
        uint64_t count;
        /* By block: */
        uint64_t *weights; /* its bytes, with what hangs on it, */
        uint32_t *hanging; /* and how many hang on it */
        struct dense dense;       /* of the blocks from FIRST to END of the list */
        struct dense heads; /* that these hang on */
        uint64_t first, end, limit;
};

/* Which of L, and how, is said by O.  SHOWN: only so many, from the first on, will be asked for; 0:
 * all of them.  L must have been searched and must outlive it. */
void leaks_list_make(struct leaks_list *g, const struct leaks *l, const struct leaks_options *o,
                     uint64_t shown);
void leaks_list_free(struct leaks_list *g);

/* The block at AT of the list. */
struct leaks_listed leaks_list_at(struct leaks_list *g, uint64_t at);

/* Where the block is that the one at AT, which was asked for last, hangs on; 0: on none. */
uint64_t leaks_list_head(struct leaks_list *g, const struct leaks_listed *block);

#endif
