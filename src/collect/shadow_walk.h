/* SPDX-License-Identifier: MIT */
/* shadow_walk.h -- the shadow of the address space in a ledger, entry by entry. */
#ifndef SEEP_COLLECT_SHADOW_WALK_H
#define SEEP_COLLECT_SHADOW_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/view.h"

struct shadow_visitor {
        void *context;
        bool dead; /* tombstones, too: those of this moment or later */
        uint32_t dead_since_ms;
        void (*take)(void *context, const struct ledger_block *b, uint64_t address);
        /* Before each part: so many bytes of the shadow were looked at; true: no more.  NULL:
         * all. */
        bool (*enough)(void *context, uint64_t bytes);
};

/* Chunk by chunk in the order of their addresses, so that blocks come sorted unless planes
 * overlap. */
void shadow_walk(const struct view *v, const struct shadow_visitor *visitor);

/* The same in parts, in the order of their addresses, which several threads may read at once: all
 * chunks of a stretch of addresses are one. */
struct shadow_parts;

struct shadow_parts *shadow_parts_open(const struct view *v);
uint32_t shadow_parts_count(const struct shadow_parts *parts);
/* Returns how many bytes of the shadow it looked at.  VISITOR->enough is not asked. */
uint64_t shadow_parts_read(const struct shadow_parts *parts, uint32_t part,
                           const struct shadow_visitor *visitor);
void shadow_parts_close(struct shadow_parts *parts);

#endif
