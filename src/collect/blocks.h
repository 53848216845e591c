/* SPDX-License-Identifier: MIT */
/*
 * blocks.h -- live blocks, from the shadow in the ledger, and resources that are held.
 */
#ifndef SEEP_COLLECT_BLOCKS_H
#define SEEP_COLLECT_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/headroom.h"
#include "collect/view.h"
#include "profile/model.h"

#define BLOCKS_ALWAYS_BYTES (8u << 20)

/* An entry of the shadow, and which address it is of. */
struct blocks_entry {
        struct ledger_block entry;
        uint64_t address;
};

/* From sites of the ledger to those of the profile. */
struct blocks_sites {
        const uint32_t *map;
        uint32_t count;
};

/* The site of B in the profile; 0: it is not in there. */
static inline uint32_t blocks_site(const struct blocks_sites *s, const struct ledger_block *b)
{
        uint32_t raw = LEDGER_BLOCK_SITE(*b);

        return LEDGER_BLOCK_LIVE(*b) && raw < s->count ? s->map[raw] : 0;
}

/* Who wants each entry of the shadow as it comes by, while blocks are read (view.listener).  The
 * shadow of a large heap is gigabytes, so it is read once for both. */
struct blocks_listener {
        void *context;
        bool dead;  /* tombstones, too: those of this moment or later */
        bool heard; /* by blocks_read(): somebody read blocks */
        uint32_t dead_since_ms;
        /* COUNT more entries are to come. */
        void (*expect)(void *context, uint64_t count);
        /* COUNT of them, of which the first is number FIRST of all: in the order of addresses, or
         * (UNSORTED) planes overlap.  Called by several threads at once, each with others. */
        void (*take)(void *context, const struct blocks_entry *list, uint64_t first,
                     uint64_t count, const struct blocks_sites *sites, bool unsorted);
};

/* Fill P's blocks, packed and sorted by address, with sites translated by SITE_MAP, and what is
 * alive of each thread.  P's sites and threads must be there.
 * ENDED: the process is gone, so that its counters say how many blocks there are.  After
 * BLOCKS_ALWAYS_BYTES of the shadow, which is all of it in most programs, the search then
 * ends with the last of them.
 * Returns the number of entries that made no sense and were left out. */
uint64_t blocks_read(const struct view *v, const uint32_t *site_map, uint32_t site_count,
                     bool ended, struct profile *p);

/* How many blocks of the heap are alive, by the counters. */
uint64_t blocks_count(const struct view *v);

/* Whether there is memory for a list of them, for whoever collects the ledger of PROGRAM; false:
 * WHY says what there is, after "it takes". */
bool blocks_may_list(const struct view *v, pid_t program, char why[HEADROOM_WHY_BYTES]);

/* ---- things with a handle that a program holds: file descriptors, textures, locks ---- */

/* Fill P's names of types. */
void resources_types(const struct view *v, struct profile *p);

/* Fill P's handles, with sites translated by SITE_MAP.  P's sites and threads must be there. */
void resources_handles(const struct view *v, const uint32_t *site_map, uint32_t site_count,
                       struct profile *p);

#endif
