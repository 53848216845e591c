/* SPDX-License-Identifier: MIT */
/*
 * types_diff.h -- the difference of two heaps by type.
 *
 * Keeps:  types are the same when their names are; what is not known is one row on each side.
 */
#ifndef SEEP_QUERY_TYPES_DIFF_H
#define SEEP_QUERY_TYPES_DIFF_H

#include "query/types.h"

struct types_change {
        const char *name; /* NULL: not known */
        struct types_sum old, new;
        const struct types_row *row; /* the larger one of both sides, for its place ... */
        bool is_new;                 /* ... and whether it is of the new side */
};

struct types_diff {
        struct types_change *rows; /* the largest change first; without those that did not change */
        uint32_t count, same;
};

/* What the two rows of a change are of. */
struct types_diff_sides {
        const struct types *old, *new;
};

/* OLD and NEW must outlive D, which is the caller's to types_diff_free(). */
void types_diff_make(struct types_diff *d, const struct types *old, const struct types *new);
void types_diff_free(struct types_diff *d);

#endif
