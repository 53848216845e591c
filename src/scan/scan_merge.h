/* SPDX-License-Identifier: MIT */
/*
 * scan_merge.h -- what a search found just before the end of a process, put into the recording of that end.
 *
 * Room:   outside.
 */
#ifndef SEEP_SCAN_SCAN_MERGE_H
#define SEEP_SCAN_SCAN_MERGE_H

#include "profile/model.h"

/* Move the findings of SCANNED into P, whose blocks may be some more or fewer by now.  Blocks that were not searched count as reachable.
 * SCANNED is freed. */
void scan_merge(struct profile *scanned, struct profile *p);

#endif
