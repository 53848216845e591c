/* SPDX-License-Identifier: MIT */
/*
 * span.h -- address ranges that may nest, searched by address.
 *
 * Room:   outside.
 */
#ifndef SEEP_NAMES_SPAN_H
#define SEEP_NAMES_SPAN_H

#include <stddef.h>
#include <stdint.h>

struct span {
        uint64_t start, end;
        uint32_t owner;
};

struct spans {
        struct span *all;
        size_t count, room;
        uint64_t longest;
};

void spans_add(struct spans *s, uint64_t start, uint64_t end, uint32_t owner);

/* After the last spans_add and before the first spans_find. */
void spans_sort(struct spans *s);

/* Owner of the innermost span over ADDRESS: 1, *OWNER set; 0 none. */
int spans_find(const struct spans *s, uint64_t address, uint32_t *owner);

void spans_free(struct spans *s);

#endif
