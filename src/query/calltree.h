/* SPDX-License-Identifier: MIT */
/*
 * calltree.h -- call stacks as one tree of named frames; equal frames are merged.
 *
 * Room:   outside.  What flame graphs, call graphs and tables of stacks are made from.
 * Keeps:  frames are those of walk.h: inlined functions among them, without start code.  Node 0 is
 *         the root and has no frame; a parent's number is smaller than its child's; (parent, frame)
 *         is unique.  Of a selection that folds (fold.h) what it hides is left out, and what a
 *         function does until it is called again: its innermost call counts.
 * Cost:   130,000 stacks of 42 frames: 0.1 s, once their names are known.
 */
#ifndef SEEP_QUERY_CALLTREE_H
#define SEEP_QUERY_CALLTREE_H

#include <stdint.h>

#include "base/table.h"
#include "names/symbol.h"
#include "query/branch.h"
#include "query/function.h"
#include "query/select.h"
#include "query/wrapper.h"

/* When two frames are one. */
enum calltree_by {
        CALLTREE_BY_NAME,     /* same name, wherever it is defined */
        CALLTREE_BY_FUNCTION, /* same function of the same file and module */
        CALLTREE_BY_LINE,     /* and the same line of it */
        CALLTREE_BY_PLACE     /* same address, and same function of those inlined there */
};

struct calltree_frame {
        uint32_t node; /* of the profile: the first place that has this frame.  0 and 1: no stack */
        uint32_t function; /* the same in all of its frames; 0: not known */
        uint16_t level;                   /* which of the frames there, 0 innermost */
        uint16_t rest;                    /* how many it is with those that it is inlined into */
        const struct symbol_frame *names; /* never NULL */
};

struct calltree {
        const struct profile *profile;
        struct symbols *symbols;
        enum calltree_by by;
        struct calltree_frame *frames;
        uint32_t frame_count;
        struct branches nodes;

        bool cuts; /* set by who wants a frame of node 1, "[stack lost]", outside of stacks whose
                    * outer end is not known: else they seem to begin there */

        /* private */
        const uint8_t *hidden; /* by node of the profile; NULL: none is */
        uint32_t frame_room;
        struct function_table numbers;
        struct lookup places; /* that were met: 1 + where the numbers of its frames are */
        uint32_t *number_of; /* how many frames are at a place, and then of each, innermost first:
                              * 1 + number; 0 not yet asked for */
        uint32_t number_count, number_room;
        uint32_t *chain; /* the way outwards from the stack that is being added */
        uint32_t chain_room;
        struct lookup functions; /* where on PATH it was last */
        uint32_t *path; /* the nodes to where the next frame is added, outermost first */
        uint32_t path_count, path_room;
};

void calltree_start(struct calltree *t, const struct profile *p, struct symbols *s,
                    enum calltree_by by);

/* The same for a few stacks. */
void calltree_start_small(struct calltree *t, const struct profile *p, struct symbols *s,
                          enum calltree_by by);
void calltree_free(struct calltree *t);

/* Whether stacks of P may end where their callers are not known. */
bool calltree_has_cuts(const struct profile *p);

/* Nothing more is added: what only that needs is given back. */
void calltree_settle(struct calltree *t);

/* The node that is the stack from FROM, of SEL's tree, outwards; it is added where it is not there.
 * SEL is of T's profile.  ENDS has an entry for each node of SEL's tree, 0 at first: the nodes that
 * are known.  NULL: for a few stacks it does not pay. */
uint32_t calltree_add(struct calltree *t, const struct selection *sel, uint32_t *ends,
                      struct wrapper_frame from);

/* Whether nobody knows what called the outermost frame of the stack of NODE, of SEL's tree. */
bool calltree_is_cut(const struct calltree *t, const struct selection *sel, uint32_t node);

/* For forms where the functions at one address are one: who calls NODE and all that it is
 * inlined into.  By place only. */
uint32_t calltree_caller(const struct calltree *t, uint32_t node);

#endif
