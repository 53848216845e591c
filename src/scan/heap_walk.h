/* SPDX-License-Identifier: MIT */
/*
 * heap_walk.h -- the blocks that the allocator of a stopped process has, recorded or not.
 *
 * Room:   outside, in the process that makes a search.
 * Keeps:  nothing is known of a block but where it is: neither what was asked for, nor by whom.
 */
#ifndef SEEP_SCAN_HEAP_WALK_H
#define SEEP_SCAN_HEAP_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "allocator/walk.h"
#include "attach/freeze.h"
#include "base/err.h"
#include "profile/model.h"

/* Fill W, to be freed with walk_blocks_free(), for F, whose modules P has.  false: its malloc is
 * none that can be walked; E says whose it is. */
bool heap_walk(struct walk_blocks *w, const struct freeze *f, const struct profile *p,
               struct err *e);

/* The memory of F, to be read. */
struct search_memory heap_walk_memory(const struct freeze *f);

#endif
