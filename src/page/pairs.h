/* SPDX-License-Identifier: MIT */
/*
 * pairs.h -- small numbers by a pair of large ones.
 *
 * Room:   outside, page/ only.
 */
#ifndef SEEP_PAGE_PAIRS_H
#define SEEP_PAGE_PAIRS_H

#include <stddef.h>
#include <stdint.h>

struct pair {
        uint64_t a, b;
        uint32_t number; /* 0: free place, or (in use) not given yet */
};

/* Zeroed: none. */
struct pairs {
        struct pair *list; /* open addressing */
        size_t room, count;
};

/* The place of the number of (A, B): 0 when it is new, and then to be set.  Valid until the next call. */
uint32_t *pairs_of(struct pairs *x, uint64_t a, uint64_t b);
void pairs_free(struct pairs *x);

#endif
