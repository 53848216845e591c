/* SPDX-License-Identifier: MIT */
/*
 * heap_walk.h -- the blocks that the allocator of a held process has, whoever asked for them.
 *
 * Room:   outside, in the process that makes a search.
 * Keeps:  nothing is known of a block but where it is: neither what was asked for, nor by whom.
 */
#ifndef SEEP_SCAN_HEAP_WALK_H
#define SEEP_SCAN_HEAP_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/freeze.h"
#include "base/err.h"
#include "leak/search.h"
#include "profile/model.h"

struct heap_walk {
        struct search_range *at; /* blocks by address, to their usable end */
        uint64_t count;
        struct search_range *own; /* memory of the allocator's, sorted */
        uint32_t own_count;
        uint64_t malloc_at; /* an address in the module that has malloc */
        char trouble[256];  /* "", or what of the heap could not be walked */
};

/* Fill W, to be freed with heap_walk_free(), for F, whose modules P has.  false: its malloc is none
 * that can be walked; E says whose it is. */
bool heap_walk(struct heap_walk *w, const struct freeze *f, const struct profile *p, struct err *e);
void heap_walk_free(struct heap_walk *w);

/* The memory of F, to be read. */
struct search_memory heap_walk_memory(const struct freeze *f);

#endif
