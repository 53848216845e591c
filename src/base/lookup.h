/* SPDX-License-Identifier: MIT */
/*
 * lookup.h -- a table from keys to small numbers; 0 for a key that is new.
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

/* For lookup_number(), where the first slot looked at has another key or none. */
uint32_t lookup_search(struct lookup *l, uint64_t a, uint64_t b);

/* The place of (A, B) in that order. */
static inline uint32_t lookup_number(struct lookup *l, uint64_t a, uint64_t b)
{
        if (l->table.room) {
                uint32_t n = l->table.slots[table_hash(a, b) & (l->table.room - 1)].number - 1;

                if (n != UINT32_MAX && l->list[n].a == a && l->list[n].b == b)
                        return n;
        }
        return lookup_search(l, a, b);
}

/* Its value.  Valid until the next call. */
static inline uint32_t *lookup_pair(struct lookup *l, uint64_t a, uint64_t b)
{
        uint32_t number = lookup_number(l, a, b);

        return &l->list[number].value;
}

static inline uint32_t *lookup_pointer(struct lookup *l, const void *p)
{
        return lookup_pair(l, (uintptr_t)p, 0);
}

void lookup_free(struct lookup *l);

#endif
