/* SPDX-License-Identifier: MIT */
/*
 * stack_costs.h -- the stacks of a selection with their costs; equal stacks are merged.
 *
 * Keeps:  of the heap, not of mmap: the sums are those of `report`.
 */
#ifndef SEEP_EXPORT_STACK_COSTS_H
#define SEEP_EXPORT_STACK_COSTS_H

#include <stdint.h>

#include "base/str.h"
#include "export/cost.h"
#include "export/export.h"
#include "names/symbol.h"
#include "query/calltree.h"

struct stack_costs_sample {
        uint32_t node;
        struct costs costs;
        uint64_t frees, lifetime_ms;
};

struct stack_costs {
        const struct profile *profile;
        struct symbols *symbols;
        const struct selection *sel;
        struct cost_source source; /* which costs are known, and what is lost */
        const struct calltree_frame *frames; /* of the tree */
        const struct branches_node *nodes;   /* nodes[0] is the root, without a frame */
        struct stack_costs_sample *samples;
        uint32_t frame_count, node_count, sample_count;
        uint32_t *ends;      /* by row of SEL's heap: the node that is its stack */
        uint32_t *sample_of; /* by node: 1 + index of the numbers of the stack that ends here; 0:
                              * none does */

        /* private */
        struct calltree tree;
        uint32_t sample_room;
};

/* IN must outlive S. */
void stack_costs_make(struct stack_costs *s, const struct export_input *in, enum calltree_by by);
void stack_costs_free(struct stack_costs *s);

/* The frames of the stack that ends at NODE, outermost first; *COUNT of them.  Valid until the next
 * call with the same BUFFER; free BUFFER->at. */
struct stack_costs_buffer {
        uint32_t *at;
        uint32_t room;
};
const uint32_t *stack_costs_outermost_first(const struct stack_costs *s, uint32_t node,
                                            struct stack_costs_buffer *buffer, uint32_t *count);

/* Sums over all samples. */
struct costs stack_costs_totals(const struct stack_costs *s);

/* Append the name of FRAME's function: "module+0x12" or "0x12" where there is none.  Any byte may
 * be in it. */
void stack_costs_name(const struct stack_costs *s, uint32_t frame, struct str *out);

/* The same in one line of UTF-8: control characters and separators of lines become spaces, bytes
 * that are no character U+FFFD, and characters in FORBIDDEN ("" none) REPLACEMENT. */
void stack_costs_plain_name(const struct stack_costs *s, uint32_t frame, const char *forbidden,
                            char replacement, struct str *out);
void stack_costs_plain_text(const char *text, const char *forbidden, char replacement,
                            struct str *out);

/* The path of the module of FRAME; NULL unknown. */
const char *stack_costs_module(const struct stack_costs *s, uint32_t frame);

#endif
