/* SPDX-License-Identifier: MIT */
/*
 * keepers.h -- the allocator that each mapping of the process belongs to, also when it has no block
 * left.
 *
 * Keeps:  nothing is written to the process.  What may not be read, or looks like nothing that is
 *         known, has no keeper.
 * Cost:   a read of 32 bytes or a look into the ledger for each anonymous mapping, at most
 *         KEEPERS_LOOKS in all.  It is part of the look that resident.c takes the less often the
 *         longer it takes.
 */
#ifndef SEEP_COLLECT_KEEPERS_H
#define SEEP_COLLECT_KEEPERS_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/view.h"
#include "profile/model.h"

#define KEEPERS_LOOKS 16384u

/* Who serves malloc; found out once. */
struct keepers {
        uint64_t malloc_at; /* what is below is about this address */
        uint32_t serving; /* PROFILE_KEEPER_MALLOC or one behind it */
        bool glibc;
        bool readable; /* its memory could be read once */
};

struct keepers_process {
        uint32_t pid;
        const struct view *view; /* its ledger; NULL none */
};

/* Set the keepers of COUNT mappings, sorted, of a process.  false: it ended meanwhile; the list may
 * be cut off, and nothing more can be said about it. */
bool keepers_find(struct keepers *k, struct keepers_process of, struct profile_mapping *mappings,
                  uint32_t count);

#endif
