/* SPDX-License-Identifier: MIT */
/*
 * calls.h -- call stacks as one tree of frames with names: what flame graphs and tables are drawn from.
 *
 * Room:   outside, page/ only.
 * Keeps:  node 0 is the root; a parent's number is smaller than its child's; (parent, frame) is unique.  Functions inlined at an address
 *         are nodes of their own.  The start code outside of main, or of a thread's function, is left out.
 */
#ifndef SEEP_PAGE_CALLS_H
#define SEEP_PAGE_CALLS_H

#include <stdint.h>

#include "names/symbol.h"
#include "page/grid.h"
#include "page/pairs.h"
#include "profile/model.h"
#include "query/branch.h"
#include "query/wrapper.h"

struct calls {
        const struct profile *p;
        struct symbols *s;
        struct wrappers *wrappers;
        struct lexicon *lexicon;
        struct grid functions, frames, nodes;
        struct pairs function_index, frame_index;
        struct branches branches; /* the same as nodes, to find them */
        uint32_t *node_of; /* by node of the profile: 1 + the node of its innermost frame */
        uint32_t *chain;   /* the way outwards from the node that is being added */
        uint32_t chain_room;
};

/* The columns of the tables that others look at. */
enum { CALLS_FUNCTION_FILE = 2, CALLS_FRAME_FUNCTION = 0, CALLS_FRAME_LINE = 1 };

void calls_start(struct calls *k, const struct profile *p, struct symbols *s, struct lexicon *lexicon, struct wrappers *w);
void calls_free(struct calls *k);

/* The number of the innermost frame at NODE of the profile; 0, 1 have no frames: a node that says so. */
uint32_t calls_node(struct calls *k, uint32_t node);

/* The same of another frame there: LEVEL 0 is the innermost. */
uint32_t calls_frame(struct calls *k, uint32_t node, uint32_t level);

#endif
