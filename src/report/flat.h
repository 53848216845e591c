/* SPDX-License-Identifier: MIT */
/*
 * flat.h -- one entry per call stack, with all its costs.
 *
 * Room:   outside.
 */
#ifndef SEEP_REPORT_FLAT_H
#define SEEP_REPORT_FLAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "names/symbol.h"
#include "report/growth.h"
#include "report/leaks.h"
#include "report/select.h"

/* name, option word, what it is called in front of a number, whether it is bytes */
#define FLAT_KEYS(X)                                                           \
        X(LIVE_BYTES, "live-bytes", "not freed", true)                         \
        X(LIVE_BLOCKS, "live-blocks", "blocks not freed", false)               \
        X(PEAK_BYTES, "peak-bytes", "at the peak", true)                       \
        X(ALLOC_BYTES, "alloc-bytes", "allocated in all", true)                \
        X(ALLOCS, "allocs", "calls", false)                                    \
        X(TEMPORARY, "temporary", "temporary", false)                          \
        X(LEAKED_BYTES, "leaked-bytes", "lost", true)                          \
        X(LEAKED_BLOCKS, "leaked-blocks", "blocks lost", false)                \
        X(AVERAGE, "average", "average size of blocks not freed", true)        \
        X(AGE, "age", "ms: age of the oldest block", false)                    \
        X(LAST, "last", "ms: time of the newest event", false)                 \
        X(LARGEST, "largest", "largest block not freed", true)                 \
        X(BAD_FREES, "bad-frees", "invalid frees", false)                      \
        X(MISMATCHED, "mismatched", "mismatched releases", false)

enum flat_key {
#define FLAT_KEY_ENUM(id, word, text, bytes) FLAT_##id,
        FLAT_KEYS(FLAT_KEY_ENUM)
#undef FLAT_KEY_ENUM
        FLAT_KEY_COUNT
};

bool flat_key_named(const char *word, enum flat_key *key);

/* The key that orders by COST. */
enum flat_key flat_key_of(enum select_cost cost);

struct flat_options {
        enum flat_key key;
        bool growing_first; /* those that grow, fastest first, then the others by key */
        uint32_t limit; /* 0: all */
        int color;
        const struct leaks *leaks; /* for the keys that are about leaks: what a search found */
};

/* growth_judge() where the selection allows it, else NULL; to be freed. */
struct growth *flat_judge(const struct selection *sel);

/* All rows of PART with which something happened, in the order of OPTIONS; to be freed.  GROWTH: by flat_judge(). */
const struct select_row **flat_order(const struct selection *sel, const struct select_part *part,
                                     const struct flat_options *options, const struct growth *growth, uint32_t *count);

/* Append the stacks whose key is not zero, largest first: the heap's, then those of mmap.  By bad-frees: at last the releases of memory
 * that no stack allocated. */
void flat_write(const struct selection *sel, struct symbols *s, const struct flat_options *options, struct str *out);

#endif
