/* SPDX-License-Identifier: MIT */
/*
 * headers.h -- call stacks whose blocks have a header: nearly all of their blocks are held at the
 * same offset.
 *
 * Room:   leak/ only, used by idioms.c.
 * Keeps:  a verdict rests on which blocks are held at all, not on how: making such pointers full
 *         ones changes no other verdict.  So one round is enough, and the order does not matter.
 * Cost:   1 byte a block, 1 byte an interior pointer to a block that no pointer to its start holds.
 *         3 million blocks, all held behind headers by 7 million pointers: 0.5 us a block; hardly
 *         any of them: 0.03 us (bench/leak_search).
 */
#ifndef SEEP_LEAK_HEADERS_H
#define SEEP_LEAK_HEADERS_H

#include "leak/search.h"

#define HEADERS_BLOCKS_LEAST 8u  /* held at an offset, for it to be one of the place */
#define HEADERS_OFFSETS_MOST 5u  /* of one place: sds has five sizes of headers */
#define HEADERS_SHARE_PERCENT 90u /* of the blocks of a place that are held at all,
                                   * those held at its offsets */

struct headers;

/* For so many POINTERS.  G->leak is that of classes_mark(). */
struct headers *headers_new(const struct search_input *in, const struct search_graph *g,
                            uint64_t pointers);
void headers_free(struct headers *h);

/* An interior pointer to OFFSET of a block, where a header may be in front; or that tells nothing
 * (0). */
struct headers_pointer {
        uint32_t block;
        uint8_t offset;
        bool held; /* the pointer is in a root, or in a block that is held */
};

/* Pointer NUMBER.  Several threads may add at once. */
void headers_add(struct headers *h, uint64_t number, const struct headers_pointer *p);

/* One about BLOCK is to come soon. */
void headers_fetch(const struct headers *h, uint32_t block);

/* After the last one.  false: no place has headers. */
bool headers_decide(struct headers *h);

/* Is pointer NUMBER, to BLOCK, one behind a header? */
bool headers_has(const struct headers *h, uint64_t number, uint32_t block);

#endif
