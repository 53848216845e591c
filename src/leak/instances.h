/* SPDX-License-Identifier: MIT */
/*
 * instances.h -- objects of GLib that have private data: it lies in front of them, and all
 * pointers are to what comes after it.
 *
 * Keeps:  nothing is read but the graph.  An object begins with a pointer to its class; that with
 *         one to its type; this has one to the type's data, and these have one to the class.
 *         No other memory has such a ring by chance.
 */
#ifndef SEEP_LEAK_INSTANCES_H
#define SEEP_LEAK_INSTANCES_H

#include "leak/search.h"

/* An object begins at OFFSET in BLOCK. */
bool instances_begin_at(const struct search_graph *g, uint32_t block, uint64_t offset);

/* One begins in BLOCK, behind its start. */
bool instances_begin_in(const struct search_graph *g, uint32_t block);

#endif
