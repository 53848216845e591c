/* SPDX-License-Identifier: MIT */
/* counters.h -- all counters of a ledger, slot by slot. */
#ifndef SEEP_COLLECT_COUNTERS_H
#define SEEP_COLLECT_COUNTERS_H

#include <stdint.h>

#include "collect/view.h"
#include "profile/model.h"

/* The front of a struct ledger_slot: all but its table of chunks. */
struct counters_slot {
        uint32_t used, tid, thread, reserved;
        uint64_t allocs, alloc_bytes, frees, free_bytes;
        uint64_t base_allocs, base_alloc_bytes; /* of a thread that is one of
                                                 * LEDGER_THREAD_OTHERS */
};

/* Called for each chunk that exists: counters C[0..COUNT) are those of sites FIRST, FIRST + 1, ...
 * in SLOT. */
typedef void counters_visit(void *context, uint32_t slot, uint32_t first,
                            const struct ledger_counter *c, uint32_t count);

uint32_t counters_slots(const struct view *v);
void counters_slot(const struct view *v, uint32_t slot, struct counters_slot *out);
uint32_t counters_sites(const struct view *v);

/* Add the sizes and lifetimes of all slots to those in TO; and what was left out (record
 * --omit). */
void counters_histograms(const struct view *v, struct profile_totals *to);
void counters_of_slot(const struct view *v, uint32_t slot, counters_visit *visit, void *context);
void counters_each(const struct view *v, counters_visit *visit, void *context);

#endif
