/* SPDX-License-Identifier: MIT */
/*
 * fragmentation.h -- the heap as a map: where glibc's malloc has its blocks and holes, and which
 * blocks keep free memory from going back to the system.
 *
 *      heap  |###.....##.#........................#====|
 *             blocks   holes                     ^  top: goes back by itself
 *                                                the last block: all holes below it stay
 *
 * Keeps:  of each heap own + taken + holes + top are its bytes.  A page with a block on it stays;
 *         its free bytes are shared out among the call stacks of the blocks on it.
 * Cost:   two passes over the blocks, which stay packed (profile/packed.h); 88 bytes for each hole
 *         that is kept.
 */
#ifndef SEEP_QUERY_FRAGMENTATION_H
#define SEEP_QUERY_FRAGMENTATION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "profile/model.h"

enum {
        FRAGMENTATION_CLASSES = 48,
        FRAGMENTATION_HOLES = 1 << 19 /* the largest are kept, unless more are asked for */
};

/* Memory between two blocks, or in front of the first. */
struct fragmentation_hole {
        uint64_t start, end;
        struct profile_block block; /* that ends it */
        uint64_t above;       /* blocks from there to the end of the heap ... */
        uint64_t above_bytes; /* ... and what the program asked for in them */
        uint32_t heap; /* in the order of addresses */
};

/* Sums of one heap, or of all. */
struct fragmentation_sum {
        uint64_t bytes, rss_bytes;
        uint64_t blocks, live_bytes; /* as the program asked for them */
        uint64_t taken_bytes;        /* with headers and rounding */
        uint64_t own_bytes;          /* the allocator's */
        uint64_t holes, hole_bytes;
        uint64_t whole_bytes; /* of hole_bytes: resident, in pages without a block */
        uint64_t top_bytes;   /* behind the last block */
};

struct fragmentation_heap {
        const struct profile_mapping *mapping;
        uint32_t keeper; /* PROFILE_KEEPER_HEAP, PROFILE_KEEPER_ARENA */
        struct fragmentation_sum sum;
};

struct fragmentation_site {
        uint32_t site;
        uint64_t blocks, live_bytes;
        uint64_t taken_bytes;  /* with headers and rounding */
        uint64_t pinned_bytes; /* free, on the pages of its blocks */
};

/* Blocks and holes of up to so many bytes: 32, 64, ... */
struct fragmentation_class {
        uint64_t blocks, live_bytes, taken_bytes, holes, hole_bytes;
};

struct fragmentation {
        const struct profile *p;
        struct fragmentation_heap *heaps; /* the one with most in holes first */
        uint32_t heap_count;
        struct fragmentation_hole *holes; /* the largest first; all.holes says how many there are */
        uint64_t hole_count;
        struct fragmentation_site *sites; /* the one that pins most first */
        uint32_t site_count;
        struct fragmentation_class classes[FRAGMENTATION_CLASSES]; /* up to 32 << i bytes */
        struct fragmentation_sum all;
        uint64_t mapped_blocks, mapped_bytes; /* with a mapping of their own: no heap */
        uint64_t unrecorded_bytes; /* in holes: of blocks that are in no list */
        bool exact; /* heaps and blocks are of one moment, at which the program stood still */
};

/* HOLES: how many somebody wants to see; 0: no matter.  false: P does not tell (E says why, and
 * what would). */
bool fragmentation_make(struct fragmentation *f, const struct profile *p, uint64_t holes,
                        struct err *e);
void fragmentation_free(struct fragmentation *f);

/* What is free behind the last blocks of arenas of threads: of all.top_bytes what malloc_trim()
 * leaves. */
uint64_t fragmentation_top_of_threads(const struct fragmentation *f);

/* Of each of the first HEAPS heaps CELLS equal parts: bytes of live blocks in them, with headers.
 * To be freed.  fragmentation_cell(): how many bytes a part has. */
uint64_t *fragmentation_maps(const struct fragmentation *f, uint32_t heaps, uint32_t cells);
uint64_t fragmentation_cell(const struct fragmentation_heap *heap, uint32_t cells);

#endif
