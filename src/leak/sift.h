/* SPDX-License-Identifier: MIT */
/*
 * sift.h -- which words of a piece of memory are pointers.
 *
 * Room:   leak/ only.  pass.c brings the pieces, and puts what was found in all parts together.
 * Keeps:  links of blocks in the order of addresses, with their owners beside them when blocks lie
 *         in one another (else the order is that of the owners); holds in the order of roots.
 */
#ifndef SEEP_LEAK_SIFT_H
#define SEEP_LEAK_SIFT_H

#include <stddef.h>

#include "leak/span.h"

/* What was found in a part of memory.  Several of them, of different blocks, may be under way at
 * once: of G they write first[] and vtables[] of their own blocks and nothing else. */
struct sift {
        const struct search_input *in;
        const struct index *index;
        struct search_graph *g;
        struct search_link *links;
        uint8_t *link_offsets;
        uint32_t *owners; /* by link, when the index has parents */
        struct search_hold *holds;
        uint8_t *hold_offsets;
        uint64_t link_count, hold_count, link_room, hold_room;
        uint64_t root_bytes, heap_bytes; /* looked at */
        uint32_t unit;  /* log2 of G's */
        uint32_t flags; /* what TO of any of them has, among other bits */
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

/* All that was found is forgotten; its memory is for what will be. */
void sift_clear(struct sift *s);
void sift_free(struct sift *s);

#endif
