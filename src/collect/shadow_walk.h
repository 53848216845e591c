/* SPDX-License-Identifier: MIT */
/* shadow_walk.h -- the ledger's shadow of the address space, entry by entry. */
#ifndef SEEP_COLLECT_SHADOW_WALK_H
#define SEEP_COLLECT_SHADOW_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/view.h"

struct shadow_visitor {
        void *context;
        bool dead; /* tombstones, too */
        void (*take)(void *context, const struct ledger_block *b, uint64_t address);
        /* After each chunk: so many bytes of the shadow were looked at; true: no more.  NULL:
         * all. */
        bool (*enough)(void *context, uint64_t bytes);
};

/* Chunk by chunk in the order of their addresses, so that blocks come sorted unless planes
 * overlap. */
void shadow_walk(const struct view *v, const struct shadow_visitor *visitor);

#endif
