/* SPDX-License-Identifier: MIT */
/*
 * sift.h -- the pointers among the words of a piece of memory.
 *
 * Room:   leak/ only.  pass.c brings the pieces, search.c takes the result.
 * Keeps:  links of blocks in the order of addresses, with their owners beside them when blocks lie
 *         in one another (else the order is that of the owners); holds in the order of roots.
 */
#ifndef SEEP_LEAK_SIFT_H
#define SEEP_LEAK_SIFT_H

#include <stddef.h>

#include "leak/span.h"

struct sift {
        const struct search_input *in;
        const struct index *index;
        struct search_graph *g;
        uint32_t *owners; /* by link, when the index has parents */
        uint64_t link_room, hold_room;
};

/* A piece of memory in a buffer.  BYTES can be read up to ADDRESS + SIZE; ADDRESS is a multiple
 * of 8. */
struct piece {
        const uint8_t *bytes;
        uint64_t address;
        size_t size;
        size_t step; /* from one word to the next: its bytes, or 1 */
        const struct span *spans; /* sorted, disjoint */
        size_t span_count;
        bool root; /* spans are of roots, not of blocks */
        bool turned, narrow; /* words have the other byte order, and 4 bytes */
};

void sift_piece(struct sift *s, const struct piece *p);

/* A link that is in no word. */
void sift_add_link(struct sift *s, uint32_t owner, struct search_link link);

#endif
