/* SPDX-License-Identifier: MIT */
/*
 * diff.h -- what changed between two recordings, or two moments of one.
 */
#ifndef SEEP_QUERY_DIFF_H
#define SEEP_QUERY_DIFF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "names/symbol.h"
#include "query/leaks.h"
#include "query/match.h"
#include "query/select.h"
#include "query/sort.h"

/* name, word: of the chosen cost */
#define DIFF_CHANGES(X)                                                        \
        X(NEW, "new")                                                          \
        X(GONE, "gone")                                                        \
        X(GROWN, "grown")                                                      \
        X(SHRUNK, "shrunk")                                                    \
        X(SAME, "unchanged")

enum diff_change {
#define DIFF_CHANGE_ENUM(id, word) DIFF_##id,
        DIFF_CHANGES(DIFF_CHANGE_ENUM)
#undef DIFF_CHANGE_ENUM
        DIFF_CHANGE_COUNT
};

/* What leaks of one class changed by: new - old. */
struct diff_leak {
        struct leaks_sum sum;
        uint32_t leak, next; /* 1 + index of the row's next one */
};

/* A stack and kind of either recording. */
struct diff_row {
        uint32_t leaks;         /* 1 + index of the first; 0: it has none */
        uint32_t id;            /* of the stack */
        uint32_t site;          /* in the recording it is shown from */
        enum match_side shown;  /* the new one, unless the stack is only in the old one */
        struct wrapper_frame from;
        uint32_t kind;
        const struct select_row *sums[MATCH_SIDES]; /* of a side that does not have it: all zero */
        uint8_t own; /* by side, a bit: several rows were summed up */
        bool lost;                /* it has leaks that are not reachable */
        bool equal;               /* no number changed */
        int64_t key;              /* what orders it */
};

struct diff {
        const struct selection *sel[MATCH_SIDES];
        struct symbols *symbols[MATCH_SIDES];
        struct match match;
        struct diff_row *rows; /* as they were met; also those that did not change */
        uint32_t *order;       /* of them, the largest change first: they stay where they are */
        uint32_t count;
        struct diff_leak *leaks; /* none unless both were searched */
        uint32_t leak_count;
        struct select_known known; /* at both moments; what is not is zero in all changes */
        bool searched; /* both, and at the end: what leaks changed by is known */
};

/* SEL: of the same cost.  Ordered by KEY: live-bytes, live-blocks, peak-bytes, alloc-bytes or
 * allocs. */
void diff_make(struct diff *d, const struct selection *const sel[MATCH_SIDES],
               struct symbols *const s[MATCH_SIDES], enum sort_key key);
void diff_free(struct diff *d);

static inline const struct diff_row *diff_row_at(const struct diff *d, uint32_t place)
{
        return &d->rows[d->order[place]];
}

/* New - old; numbers wrap. */
struct select_row diff_numbers(const struct diff *d, const struct diff_row *row);

/* What became of the chosen cost. */
enum diff_change diff_change_of(const struct diff *d, const struct diff_row *row);
const char *diff_change_word(enum diff_change change);

struct diff_options {
        const char *names[MATCH_SIDES]; /* what the user called the two */
        uint32_t limit;                 /* 0: all */
        int color;
        bool abs;                       /* memlog: the larger change first, whichever way it goes */
};

/* What leaks of a row changed by: new - old, by class; all zero unless both were searched. */
void diff_row_leaks(const struct diff *d, const struct diff_row *row,
                    struct leaks_sum sums[PROFILE_LEAK_COUNT]);

/* What all leaks changed by, by class: negative ones as they wrap. */
void diff_leaks(const struct diff *d, struct leaks_sum sums[PROFILE_LEAK_COUNT]);

/* For qsort.  What grew most first, what shrank most last; or, ABS, the larger
 * change first, up before down. */
int diff_order(int64_t x, int64_t y);
int diff_order_abs(int64_t x, int64_t y);

/* As all numbers of selections, wrapping. */
int64_t diff_sum(int64_t x, int64_t y);

#endif
