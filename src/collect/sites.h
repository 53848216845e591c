/* SPDX-License-Identifier: MIT */
/* sites.h -- the counters of all threads summed per call stack and kind. */
#ifndef SEEP_COLLECT_SITES_H
#define SEEP_COLLECT_SITES_H

#include <stdint.h>

#include "collect/stacks.h"
#include "collect/view.h"
#include "profile/model.h"

/* Fill P's sites and shares; its types must be there.  Sites of the ledger with the same
 * (canonical stack, kind) become one.  Returns the map from the ledger's *COUNT sites to those of
 * P (0: none), the caller's to free(). */
uint32_t *sites_read(const struct view *v, struct stacks *stacks, struct profile *p,
                     uint32_t *count);

#endif
