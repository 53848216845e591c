/* SPDX-License-Identifier: MIT */
/*
 * interval.h -- what a process allocated since it was last read.
 *
 * Room:   outside, serve/ only.  Pure.
 * Keeps:  the sum over all intervals is what the last look counts, exactly: a stack that is met
 *         again is told by its addresses, whatever numbers the looks gave it.
 */
#ifndef SEEP_SERVE_INTERVAL_H
#define SEEP_SERVE_INTERVAL_H

#include <stdint.h>

#include "profile/model.h"

struct interval_site {
        uint64_t key; /* of stack and kind */
        uint64_t allocs, alloc_bytes;
};

/* What was counted up to the last look. */
struct interval {
        struct interval_site *sites; /* sorted by key */
        uint32_t count;
};

/* Make the counts of allocations in P, a later look, those since the last one.  What is live stays
 * as it is; threads and single blocks, of which no earlier numbers are kept, go. */
void interval_take(struct interval *i, struct profile *p);

void interval_free(struct interval *i);

#endif
