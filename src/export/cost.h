/* SPDX-License-Identifier: MIT */
/*
 * cost.h -- the costs per call stack that formats of other tools can have.
 *
 * Keeps:  the order is pprof's: its four usual values first.
 */
#ifndef SEEP_EXPORT_COST_H
#define SEEP_EXPORT_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "names/symbol.h"
#include "query/leaks.h"
#include "query/select.h"

/* name, word of --cost, the word `report` has for it, name for people, name in pprof, unit,
 * what `report` selects for it */
#define COSTS(X)                                                                                   \
        X(ALLOC_COUNT, "alloc-count", "allocs", "allocation calls", "alloc_objects", "count",      \
          SELECT_ALLOCS)                                                                           \
        X(ALLOC_BYTES, "alloc-bytes", "total", "total bytes allocated", "alloc_space", "bytes",    \
          SELECT_TOTAL)                                                                            \
        X(LIVE_COUNT, "live-count", "live-blocks", "live blocks", "inuse_objects", "count",        \
          SELECT_LIVE)                                                                             \
        X(LIVE_BYTES, "live-bytes", "live", "live bytes", "inuse_space", "bytes", SELECT_LIVE)     \
        X(PEAK_COUNT, "peak-count", "peak-blocks", "blocks at the peak", "peak_objects", "count",  \
          SELECT_PEAK)                                                                             \
        X(PEAK_BYTES, "peak-bytes", "peak", "bytes at the peak", "peak_space", "bytes",            \
          SELECT_PEAK)                                                                             \
        X(LEAKED_COUNT, "leaked-count", "leaked-blocks", "leaked blocks", "leaked_objects",        \
          "count", SELECT_LIVE)                                                                    \
        X(LEAKED_BYTES, "leaked-bytes", "leaked", "leaked bytes", "leaked_space", "bytes",         \
          SELECT_LIVE)                                                                             \
        X(TEMP_COUNT, "temp-count", "temporary", "temporary allocations", "temp_objects", "count", \
          SELECT_TEMPORARY)

enum cost_kind {
#define COST_ENUM(id, ...) COST_##id,
        COSTS(COST_ENUM)
#undef COST_ENUM
        COST_COUNT
};

struct cost_name {
        const char *word, *other, *title, *pprof, *unit;
        enum select_cost select;
};

extern const struct cost_name cost_names[COST_COUNT];

/* By either of its words; false: there is none. */
bool cost_named(const char *word, enum cost_kind *cost);

/* The one that shares of SEL go by. */
enum cost_kind cost_selected(const struct selection *sel);

/* Numbers wrap, as in select_row. */
struct costs {
        uint64_t of[COST_COUNT];
};

/* What is needed to tell the costs of a row. */
struct cost_source {
        const struct selection *sel;
        struct leaks leaks;
        bool known[COST_COUNT]; /* others are zero: the moment does not tell them, or
                                 * nothing was searched for leaks */
};

void cost_start(struct cost_source *c, const struct selection *sel, struct symbols *s);
void cost_end(struct cost_source *c);

struct costs cost_of_row(const struct cost_source *c, const struct select_row *row);

void cost_add(struct costs *to, const struct costs *more);

/* Whether any of them is not zero. */
bool cost_any(const struct costs *c);

#endif
