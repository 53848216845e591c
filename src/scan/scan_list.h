/* SPDX-License-Identifier: MIT */
/*
 * scan_list.h -- the list of blocks that is searched, in agreement with the roots.
 *
 * Room:   outside, in the process that makes a search.
 * Keeps:  places and numbers of the blocks (scan_origin.h) go with the list.
 */
#ifndef SEEP_SCAN_SCAN_LIST_H
#define SEEP_SCAN_SCAN_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "scan/roots.h"
#include "scan/scan_blocks.h"
#include "scan/scan_origin.h"

/* All memory that is a root, in order of address; to be freed. */
struct search_range *scan_list_root_memory(const struct roots *r, uint32_t *count);

/* Blocks that the C library uses are ignored, and those that are thread-local storage are roots:
 * returns whether there is any of these, which are then to be taken out. */
bool scan_list_mark_used(struct scan_list *l, const struct roots *r);
void scan_list_leave_roots(struct scan_list *l, struct scan_origin *o);

/* A passage ends where a root begins; inside of one it is only as long as it is known to be. */
void scan_list_bound_passages(struct scan_list *l, const struct roots *r);

/* Put COUNT passages in, which are sorted and lie where no block is. */
void scan_list_add_passages(struct scan_list *l, struct scan_origin *o,
                            const struct search_range *passages, uint64_t count);

#endif
