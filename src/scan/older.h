/* SPDX-License-Identifier: MIT */
/*
 * older.h -- blocks from before a recording began (seep attach): a walk through the heap finds
 * them.
 *
 * Room:   outside, in the process that makes a search.
 * Keeps:  they are sites of their own (PROFILE_KIND_OLDER), in no count of the recording: without
 *         stack, age and thread, by what is in them (contents.h).  Sizes are usable sizes.
 */
#ifndef SEEP_SCAN_OLDER_H
#define SEEP_SCAN_OLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/freeze.h"
#include "base/err.h"
#include "leak/search.h"
#include "profile/model.h"
#include "scan/heap_walk.h"
#include "scan/scan_blocks.h"

struct older {
        struct walk_blocks walk;
        struct profile modules; /* of the process, as its mappings show them */
        struct search_range *at; /* blocks that the ledger does not know, by address */
        uint64_t count;
};

/* Walk the heap of F.  false: that cannot be done, E says why.  O->walk.trouble: a thread may be in
 * the middle of changing it.  older_free() is due in any case. */
bool older_walk(struct older *o, const struct freeze *f, struct err *e);

/* Of the walk, what is in neither of the two lists; it is added to NOW. */
void older_choose(struct older *o, struct scan_entries *now, const struct scan_entries *before);

/* Put it into P, which was collected from the ledger. */
void older_store(const struct older *o, const struct freeze *f, struct profile *p);

/* Put the older blocks of FROM, found just before, into P. */
void older_copy(const struct profile *from, struct profile *p);

/* Blocks of E that a thread of F is just getting or releasing are not lost.  Such a thread is in
 * the module of P that has MALLOC_AT. */
void older_spare_in_hand(struct scan_entries *e, const struct freeze *f, const struct profile *p,
                         uint64_t malloc_at);

void older_free(struct older *o);

#endif
