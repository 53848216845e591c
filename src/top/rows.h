/* SPDX-License-Identifier: MIT */
/*
 * rows.h -- the lines of the table: call stacks, or groups of them, with their numbers.
 */
#ifndef SEEP_TOP_ROWS_H
#define SEEP_TOP_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "query/growth.h"
#include "query/select.h"
#include "report/group.h"
#include "top/picture.h"

/* name, word of --sort, what it is in words */
#define ROWS_COLUMNS(X)                                                        \
        X(LIVE, "live-bytes", "live bytes")                                    \
        X(CHANGE, "change", "change of live bytes")                            \
        X(BLOCKS, "live-blocks", "live blocks")                                \
        X(CALLS, "allocs", "calls per second")                                 \
        X(AGE, "age", "average age of live blocks")

enum rows_column {
#define ROWS_COLUMN_ENUM(id, word, text) ROWS_BY_##id,
        ROWS_COLUMNS(ROWS_COLUMN_ENUM)
#undef ROWS_COLUMN_ENUM
        ROWS_COLUMN_COUNT
};

bool rows_column_named(const char *word, enum rows_column *column);

struct row {
        uint64_t key;  /* the same in each picture */
        uint32_t site; /* of the picture's recording, the largest of those summed here; 0: of
                        * none */
        char *name;    /* NULL: a call stack */
        uint64_t live_bytes, live_blocks, allocs;
        int64_t change_bytes, change_blocks;
        double calls_per_s;
        uint64_t age_ms; /* HISTORY_UNKNOWN */
        struct growth growth;
};

struct rows_request {
        struct filter *filter;     /* of names: reset by the caller whenever the resolver is another
                                    * one */
        struct wrappers *wrappers; /* NULL: none are hidden */
        enum group_kind group;
        enum select_memory memory;
        enum rows_column sort;
        bool ascending;
};

struct rows {
        struct row *all; /* those with which something is or happened, in order */
        uint32_t count;
        bool has_change, has_rates; /* there is something to compare with */
};

/* false: E says why not (exit code 2). */
bool rows_make(struct rows *r, const struct picture *c, const struct rows_request *q,
               struct err *e);
void rows_free(struct rows *r);

/* The row of KEY; 0 when it is not there. */
uint32_t rows_find(const struct rows *r, uint64_t key);

#endif
