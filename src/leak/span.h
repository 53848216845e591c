/* SPDX-License-Identifier: MIT */
/*
 * span.h -- all memory of roots and blocks as spans in the order of addresses, each with one owner.
 *
 * Room:   leak/ only.  Made by span.c, read piece by piece by pass.c.
 * Keeps:  each byte of a block is in one span, that of the innermost block around it; what roots
 *         have in common with blocks is the blocks'.
 */
#ifndef SEEP_LEAK_SPAN_H
#define SEEP_LEAK_SPAN_H

#include <stdbool.h>
#include <stdint.h>

#include "leak/index.h"

struct span {
        uint64_t start, end;
        uint64_t base;  /* what offsets are counted from: the block's address; 0 for a root */
        uint32_t owner; /* block or root */
        uint32_t reserved;
};

/* Gives one span after another. */
struct span_supply {
        const struct index *index;
        bool (*next)(struct span_supply *s, struct span *span);
        uint64_t place, end; /* from here on; END: of the root */
        uint32_t block;      /* the next one ... */
        uint32_t last;       /* ... below this one */
        uint32_t owner;      /* root; or 1 + the block that is open at the place, 0 none */
};

/* Of blocks FIRST to END; both lie in no other one. */
struct span_supply span_blocks(const struct index *x, uint32_t first, uint32_t end);

/* Of root NUMBER. */
struct span_supply span_root(const struct index *x, const struct search_root *root,
                             uint32_t number);

#endif
