/* SPDX-License-Identifier: MIT */
/*
 * walk.h -- the frames of a call stack as people see them, from the allocation outwards.
 *
 * Room:   outside.  Everything that shows a stack goes through here, or through calltree.h, which
 *         does.
 * Keeps:  the inner end is where the caller begins: behind the wrappers (wrappers_trim), usually.
 *         Functions inlined at an address are frames of their own.  The outer end is main, or the
 *         function of a thread: start code is left out, but never the frame that the walk begins
 *         with.  Recursion is shown as it is.
 *
 *      struct walk w = walk_from(p, s, wrappers_trim(wrappers, p, s, node));
 *
 *      while (walk_next(&w))
 *              show(w.node, w.frame);
 */
#ifndef SEEP_QUERY_WALK_H
#define SEEP_QUERY_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "names/symbol.h"
#include "profile/model.h"
#include "query/wrapper.h"

struct walk {
        const struct symbol_frame *frame; /* where the walk is: one of those at NODE ... */
        uint32_t node;                    /* ... of the profile */
        uint32_t level;                   /* which of them, 0 innermost */

        /* private */
        const struct profile *profile;
        struct symbols *symbols;
        bool (*hides)(struct symbols *s, uint32_t node);
        const struct symbol_frame *frames;
        uint32_t count; /* of frames; 0: not begun */
};

/* From FROM on.  Start code is shown where all frames were asked for. */
struct walk walk_from(const struct profile *p, struct symbols *s, struct wrapper_frame from);

/* The same from the innermost frame of the stack of NODE, and always without start code: for
 * what is not shown itself. */
struct walk walk_own(const struct profile *p, struct symbols *s, uint32_t node);

/* One frame outwards; first to the one that the walk begins with.  false: there is none. */
bool walk_next(struct walk *w);

#endif
