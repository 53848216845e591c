/* SPDX-License-Identifier: MIT */
/*
 * idioms.h -- interior pointers that count as pointers to the start, because a library or a
 * compiler makes them.
 *
 * Room:   leak/ only.  The four are those of Memcheck's --leak-check-heuristics.
 */
#ifndef SEEP_LEAK_IDIOMS_H
#define SEEP_LEAK_IDIOMS_H

#include "leak/search.h"

/* Looks at interior pointers to blocks that are not REACHABLE in G->leak; those that follow an
 * idiom get SEARCH_LINK_IDIOM.  Returns how many there are. */
uint64_t idioms_find(const struct search_input *in, struct search_graph *g);

#endif
