/* SPDX-License-Identifier: MIT */
/*
 * arena.h -- where glibc's malloc keeps its own data, which must not count as roots.
 *
 * Room:   outside, in the process that makes a search.
 */
#ifndef SEEP_SCAN_ARENA_H
#define SEEP_SCAN_ARENA_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/freeze.h"
#include "leak/search.h"

/* What the heaps of arenas are aligned to. */
uint64_t arena_bytes(const struct freeze *f);

/* The main arena in DATA, the data of a module; false: it has none. */
bool arena_in_data(const struct freeze *f, const struct search_range *data,
                   struct search_range *found);

#endif
