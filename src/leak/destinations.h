/* SPDX-License-Identifier: MIT */
/*
 * destinations.h -- where pointers of a search may lead, as a few ranges: for memory that is read
 * from another machine
 */
#ifndef SEEP_LEAK_DESTINATIONS_H
#define SEEP_LEAK_DESTINATIONS_H

#include "leak/search.h"

#define DESTINATIONS_MOST 4096u

/* What a search reads words from: the memory of IN, or the same without words that lead nowhere,
 * where whoever reads it can leave these out. */
struct search_memory destinations_memory(const struct search_input *in);

/* All that a pointer can lead to that the search wants: blocks and code.  Sorted, disjoint, at most
 * DESTINATIONS_MOST; to be freed. */
struct search_range *destinations_find(const struct search_input *in, uint32_t *count);

#endif
