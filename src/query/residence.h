/* SPDX-License-Identifier: MIT */
/*
 * residence.h -- how the allocator uses its resident memory: blocks, headers, free.
 *
 * Keeps:  of each mapping used + overhead + unrecorded + free + rest is what is resident.
 *         Estimates: a live block counts as resident as far as its mapping is; headers and rounding
 *         are glibc's to the byte, of other allocators as their size classes are documented.
 */
#ifndef SEEP_QUERY_RESIDENCE_H
#define SEEP_QUERY_RESIDENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "profile/model.h"
#include "profile/packed.h"

/* Of one mapping, or of all that one allocator keeps in one way. */
struct residence_part {
        uint32_t keeper; /* enum profile_keeper */
        uint32_t mappings;
        bool guessed; /* how blocks lie in it is not known; nothing is in whole pages then */
        uint64_t bytes, rss_bytes;
        uint64_t blocks, live_bytes; /* as the program asked for them */
        uint64_t used_bytes; /* of live_bytes: resident */
        uint64_t overhead_bytes; /* resident: headers and rounding of live blocks */
        uint64_t free_bytes; /* resident: of no block */
        uint64_t whole_bytes; /* of free_bytes: in pages without a block, which can be given back */
        uint64_t top_bytes; /* of free_bytes: in such pages, too, but above all blocks of an arena
                             * of threads, where malloc_trim() does not come */
        uint64_t unrecorded_bytes; /* resident: of blocks that are not recorded, with their
                                    * headers */
        uint64_t rest_bytes; /* resident: not the allocator's, merged in by the kernel */
        uint64_t headers_bytes; /* overhead, resident or not */
};

/* A walk over the mappings of P, in their order. */
struct residence {
        const struct profile *p;
        struct profile_region *regions; /* sorted */
        uint32_t region, mapping;
        struct packed_walk walk;
        bool more; /* there is a block that was not walked over */
        uint32_t other; /* keeper of an allocator other than the C library's; NONE: that serves */
        uint64_t serves_from, serves_to; /* the code of malloc */
        bool guessed; /* P has no list of the blocks at that moment ... */
        /* ... but knows how much they were: to be shared out among ... */
        uint64_t unknown_live, unknown_blocks;
        /* ... so much resident memory, of which so much was walked over. */
        uint64_t unknown_rss, unknown_before;
};

void residence_start(struct residence *r, const struct profile *p);
void residence_end(struct residence *r);

/* The next mapping; REGION: what the program mapped itself in it, NULL nothing.  False: there is
 * none. */
bool residence_next(struct residence *r, struct residence_part *out,
                    const struct profile_region **region);

/* ---- all of them ---- */

struct residence_sums {
        bool guessed;
        uint64_t rss_bytes; /* of the process, without seep */
        uint64_t free_bytes, whole_bytes;
        struct residence_part parts[PROFILE_KEEPER_COUNT]; /* [0] is empty */
};

void residence_sum(const struct profile *p, struct residence_sums *out);

/* The one with the most free memory, when that is most of what is resident, and enough to care;
 * NULL: it is not. */
const struct residence_part *residence_wasted(const struct residence_sums *s);

/* Append what helps against it: "malloc_trim(0) gives back 12 MiB". */
void residence_advice(const struct residence_part *part, struct str *out);

#endif
