/* SPDX-License-Identifier: MIT */
/*
 * frames.h -- stacks in JSON: lists of indices into one list of frames, which has each address
 * once.
 */
#ifndef SEEP_EXPORT_FRAMES_H
#define SEEP_EXPORT_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "base/table.h"
#include "names/symbol.h"
#include "query/select.h"
#include "query/wrapper.h"

/* A node that brought new frames, and the index of its innermost one. */
struct frames_met {
        uint32_t node, place;
        bool start; /* start code that other outputs hide */
};

/* Frames are listed in the order in which stacks meet them. */
struct frames {
        const struct profile *profile;
        struct symbols *symbols;
        const struct selection *whose; /* the selection that it was started with */
        uint32_t *place; /* by node of the profile: 1 + index of its innermost frame, 0 not yet
                          * met */
        uint8_t *length; /* by node: how many frames it has, at most DEBUG_FRAMES */
        struct frames_met *met;
        uint32_t met_count;
        uint32_t next;   /* index of the next frame; may be set before the first stack */
        struct table numbers; /* of MET, by address */
        struct wrappers *wrappers, usual; /* which frames are marked as wrappers; those of
                                           * WHOSE, else the usual ones */
};

/* SEL is the selection most stacks are of. */
void frames_start(struct frames *f, const struct selection *sel, struct symbols *s);
void frames_free(struct frames *f);

/* Give the frames of a stack their places, without writing it. */
void frames_meet(struct frames *f, const struct selection *sel, uint32_t node);

/* Append "[3, 4]": the stack of NODE in SEL's tree, innermost first.  One OUT for all stacks of one
 * F. */
void frames_stack(struct frames *f, const struct selection *sel, uint32_t node, struct str *out);

/* Append the frames met so far, as members of a list; FIRST: nothing stands in it yet. */
void frames_list(const struct frames *f, bool first, struct str *out);

/* Whether the outer end of the stack is missing. */
bool frames_cut_off(const struct selection *sel, uint32_t node);

#endif
