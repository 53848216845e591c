/* SPDX-License-Identifier: MIT */
/*
 * stacks.h -- the stacks of a selection as a tree of frames with names, inlined functions among them; equal stacks are one.
 *
 * Room:   outside.
 * Keeps:  of the heap, not of mmap: the sums are those of `report`.  The start code outside of main and of thread functions is left out, as in
 *         all reports.  A parent's index is smaller than its child's.
 * Cost:   130,000 stacks of 42 frames: 0.1 s, once their names are known.
 */
#ifndef SEEP_EXPORT_STACKS_H
#define SEEP_EXPORT_STACKS_H

#include <stdint.h>

#include "base/str.h"
#include "export/cost.h"
#include "export/export.h"
#include "names/symbol.h"
#include "query/branch.h"
#include "query/function.h"

/* When two frames are one. */
enum stacks_by {
        STACKS_BY_NAME,     /* same name, wherever it is defined */
        STACKS_BY_FUNCTION, /* same function of the same file and module */
        STACKS_BY_LINE,     /* and the same line of it */
        STACKS_BY_ADDRESS   /* same address; the functions inlined there are no frames of their own */
};

struct stacks_frame {
        uint32_t node;                    /* of the profile: the first place that has this frame.  0 and 1: no stack */
        const struct symbol_frame *names; /* of it; BY_ADDRESS: the innermost of those at NODE.  Never NULL */
};

/* A frame with all its callers. */
struct stacks_node {
        uint32_t parent; /* 0: none */
        uint32_t frame;  /* index into frames */
        uint32_t sample; /* 1 + index of the numbers of the stack that ends here; 0: none does */
};

struct stacks_sample {
        uint32_t node;
        struct costs costs;
        uint64_t frees, lifetime_ms;
};

struct stacks {
        const struct profile *profile;
        struct symbols *symbols;
        const struct selection *sel;
        enum stacks_by by;
        struct cost_source source; /* which costs are known, and what is lost */
        struct stacks_frame *frames;
        struct stacks_node *nodes; /* nodes[0] is the root, without a frame */
        struct stacks_sample *samples;
        uint32_t frame_count, node_count, sample_count;
        uint32_t *ends; /* by row of SEL's heap: the node that is its stack */

        /* private */
        uint32_t frame_room, node_room, sample_room;
        struct function_table numbers; /* while it is made */
        struct branches branches;      /* the same nodes, while they are added */
};

/* IN must outlive S. */
void stacks_make(struct stacks *s, const struct export_input *in, enum stacks_by by);
void stacks_free(struct stacks *s);

/* The frames of the stack that ends at NODE, outermost first; *COUNT of them.  Valid until the next call with the same BUFFER; free BUFFER->at. */
struct stacks_buffer {
        uint32_t *at;
        uint32_t room;
};
const uint32_t *stacks_outermost_first(const struct stacks *s, uint32_t node, struct stacks_buffer *buffer, uint32_t *count);

/* Sums over all samples. */
struct costs stacks_totals(const struct stacks *s);

/* Append the name of FRAME's function: "module+0x12" or "0x12" where there is none.  Any byte may be in it. */
void stacks_name(const struct stacks *s, uint32_t frame, struct str *out);

/* The same in one line of UTF-8: control characters and separators of lines become spaces, bytes that are no character U+FFFD, and characters in
 * FORBIDDEN ("" none) REPLACEMENT. */
void stacks_plain_name(const struct stacks *s, uint32_t frame, const char *forbidden, char replacement, struct str *out);
void stacks_plain_text(const char *text, const char *forbidden, char replacement, struct str *out);

/* The path of the module of FRAME; NULL unknown. */
const char *stacks_module(const struct stacks *s, uint32_t frame);

#endif
