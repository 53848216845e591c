/* SPDX-License-Identifier: MIT */
/*
 * calls.h -- call stacks as one tree of named frames, from which flame graphs and tables are drawn.
 *
 * Keeps:  what calltree.h keeps.  Wrappers and library code stay, and are marked.
 */
#ifndef SEEP_PAGE_CALLS_H
#define SEEP_PAGE_CALLS_H

#include <stdint.h>

#include "page/grid.h"
#include "query/calltree.h"

struct calls {
        struct wrappers *wrappers;
        struct fold *fold; /* whose code a frame is */
        struct lexicon *lexicon;
        struct grid functions, frames, nodes; /* those of the tree */
        struct calltree tree;
        struct function_table numbers; /* of functions */
        uint32_t *node_of; /* by node of the profile: the node of its innermost frame; 0 not yet
                            * known */
};

/* The columns of the tables that others look at. */
enum { CALLS_FUNCTION_FILE = 2, CALLS_FRAME_FUNCTION = 0, CALLS_FRAME_LINE = 1 };

void calls_start(struct calls *k, const struct profile *p, struct symbols *s,
                 struct lexicon *lexicon, struct wrappers *w);
void calls_free(struct calls *k);

/* The node of a frame at NODE of the profile, LEVEL 0 is the innermost; 0, 1 have no
 * frames: a node that says so. */
uint32_t calls_frame(struct calls *k, uint32_t node, uint32_t level);

#endif
