/* SPDX-License-Identifier: MIT */
/*
 * scan_store.h -- the results of a search, stored in a profile: of the same moment, or of an end
 * that came just after.
 */
#ifndef SEEP_SCAN_SCAN_STORE_H
#define SEEP_SCAN_SCAN_STORE_H

#include "attach/freeze.h"
#include "leak/search.h"
#include "profile/model.h"
#include "scan/roots.h"
#include "scan/scan.h"

struct scan_result {
        const struct search_block *blocks;
        struct search_graph *graph;
        struct roots *roots; /* moved into the profile with the graph */
        const struct freeze *freeze;
        const struct scan_lost *lost; /* NULL: no earlier search */
        uint64_t lost_count;
        const uint32_t *block_of; /* by searched block, 1 + the block of the profile; 0 none.
                                   * NULL: all are, in the same order */
        const uint32_t *places;   /* by searched block, its site */
};

/* Verdicts for all blocks of P, and the first bytes of lost ones.  Blocks that are younger than the
 * search, and those that the loader keeps thread-local storage in, count as reachable.  Returns how
 * many are definitely lost. */
uint64_t scan_store_verdicts(const struct scan_result *r, struct profile *p);

/* Roots and pointers. */
void scan_store_graph(struct scan_result *r, struct profile *p);

/* ---- what a search found just before the end of a process, put into the recording of that end
 * ---- */

/* Move the findings of SCANNED into P, whose blocks may be some more or fewer by now.  Blocks that
 * were not searched count as reachable.  SCANNED is freed. */
void scan_merge(struct profile *scanned, struct profile *p);

/* P is of that end and has no list of blocks: where nothing was allocated or released in between,
 * it gets that of SCANNED, packed as it is, with all that was found.  false: it is not so, and P
 * is as before.  SCANNED is freed. */
bool scan_adopt(struct profile *scanned, struct profile *p);

/* Leave in P, which is about to become SCANNED, what these two need. */
void scan_leave_findings(struct profile *p);

#endif
