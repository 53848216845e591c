/* SPDX-License-Identifier: MIT */
/*
 * lookup.h -- a small number for each key that was met, 0 until it is set.
 *
 * Texts are told apart by pointer: the resolver has each text once.
 */
#ifndef SEEP_BASE_LOOKUP_H
#define SEEP_BASE_LOOKUP_H

#include "base/table.h"

struct lookup_entry {
        uint64_t a, b;
        uint32_t value;
};

/* Zeroed: empty. */
struct lookup {
        struct lookup_entry *list; /* in the order in which they came */
        struct table table;
};

/* The place of (A, B) in that order. */
uint32_t lookup_number(struct lookup *l, uint64_t a, uint64_t b);

/* Its value.  Valid until the next call. */
uint32_t *lookup_pair(struct lookup *l, uint64_t a, uint64_t b);
uint32_t *lookup_pointer(struct lookup *l, const void *p);

void lookup_free(struct lookup *l);

#endif
