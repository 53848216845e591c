/* SPDX-License-Identifier: MIT */
/* sort.h -- the keys that call stacks can be sorted by (--sort). */
#ifndef SEEP_QUERY_SORT_H
#define SEEP_QUERY_SORT_H

#include <stdbool.h>

#include "query/select.h"

/* name, option word, what it is called in front of a number, whether it is bytes */
#define SORT_KEYS(X)                                                           \
        X(LIVE_BYTES, "live-bytes", "not freed", true)                         \
        X(LIVE_BLOCKS, "live-blocks", "blocks not freed", false)               \
        X(PEAK_BYTES, "peak-bytes", "at the peak", true)                       \
        X(ALLOC_BYTES, "alloc-bytes", "allocated in total", true)              \
        X(ALLOCS, "allocs", "calls", false)                                    \
        X(TEMPORARY, "temporary", "temporary", false)                          \
        X(LEAKED_BYTES, "leaked-bytes", "lost", true)                          \
        X(LEAKED_BLOCKS, "leaked-blocks", "blocks lost", false)                \
        X(AVERAGE, "average", "average size of blocks not freed", true)        \
        X(AGE, "age", "ms: age of the oldest block", false)                    \
        X(LAST, "last", "ms: time of the newest event", false)                 \
        X(LARGEST, "largest", "largest block not freed", true)                 \
        X(BAD_FREES, "bad-frees", "invalid frees", false)                      \
        X(MISMATCHED, "mismatched", "mismatched frees", false)

enum sort_key {
#define SORT_KEY_ENUM(id, word, text, bytes) SORT_##id,
        SORT_KEYS(SORT_KEY_ENUM)
#undef SORT_KEY_ENUM
        SORT_KEY_COUNT
};

bool sort_key_named(const char *word, enum sort_key *key);

/* The key that orders by COST. */
enum sort_key sort_key_of(enum select_cost cost);

/* "not freed", and whether it is bytes. */
const char *sort_key_text(enum sort_key key);
bool sort_key_is_bytes(enum sort_key key);

#endif
