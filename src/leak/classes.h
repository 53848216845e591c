/* SPDX-License-Identifier: MIT */
/*
 * classes.h -- from pointers to verdicts: reachable, possible, indirect, definite.
 *
 * Room:   leak/ only.  The rules are Memcheck's.
 */
#ifndef SEEP_LEAK_CLASSES_H
#define SEEP_LEAK_CLASSES_H

#include "leak/search.h"

/* G->leak becomes REACHABLE or POSSIBLE for all blocks that roots hold, UNKNOWN for others. */
void classes_mark(const struct search_input *in, struct search_graph *g);

/* After that: some interior links have become those of an idiom. */
void classes_mark_more(const struct search_input *in, struct search_graph *g);

/* After that: G->idiom of blocks that are reachable only thanks to an idiom. */
void classes_note_idioms(const struct search_input *in, struct search_graph *g);

/* After that: what is left is lost.  Each group of lost blocks gets one head. */
void classes_lost(const struct search_input *in, struct search_graph *g);

#endif
