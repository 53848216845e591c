/* SPDX-License-Identifier: MIT */
/*
 * reserve.h -- address space that was mapped but cannot all have been in use
 *
 * Room:   outside.  Run-time systems map much more than they use (node: half a GiB for its code),
 *         without access, and open it piece by piece.  What of it was opened is not recorded; but
 *         what one place mapped cannot all have been in use when it is more than the process ever
 *         had in memory.  Stacks of threads are of that kind, too: 8 MiB each, of which a thread
 *         uses some KiB.
 */
#ifndef SEEP_PROFILE_RESERVE_H
#define SEEP_PROFILE_RESERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/model.h"

/* BYTES that one place has mapped: address space, of which a part may be in use.  The ledger was
 * taken off from what was resident as large as it ever was, which may be too much. */
static inline bool reserve_is(const struct profile *p, uint64_t bytes)
{
        return p->totals.rss_peak_bytes &&
               bytes > p->totals.rss_peak_bytes + p->totals.ledger_bytes;
}

/* By site: whether what it mapped are stacks of threads, as those are that are there at the end.
 * The caller frees it. */
bool *reserve_stacks(const struct profile *p);

/* The same of those, and of sites that mapped more than was ever resident: what is in no sum of
 * heap and mmap. */
bool *reserve_sites(const struct profile *p);

#endif
