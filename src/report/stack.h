/* SPDX-License-Identifier: MIT */
/*
 * stack.h -- whole call stacks, one line per frame.
 *
 * Cost:   the line of a frame is made once, and copied for each stack.
 */
#ifndef SEEP_REPORT_STACK_H
#define SEEP_REPORT_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "names/symbol.h"
#include "query/select.h"
#include "query/calltree.h"
#include "query/wrapper.h"

/* The line of a frame, in LINES of the writer. */
struct stack_text {
        size_t start, length; /* 0: not written yet */
};

enum { STACK_AHEAD = 16 };

/* Appends stacks to OUT. */
struct stack_writer {
        const struct selection *sel;
        struct symbols *symbols;
        const char *indent; /* in front of each line */
        struct str *out;
        struct calltree calls;
        uint32_t *ends; /* by node of SEL's tree: that of CALLS; NULL: for one stack alone it does
                         * not pay */
        struct stack_text *texts; /* by frame of CALLS */
        uint32_t text_room;
        struct str lines;
        bool cuts; /* some stacks have an outer end that is not known */
        uint64_t *foreseen; /* by node of SEL's tree, a bit: stacks that will be written */
        uint32_t expected[STACK_AHEAD], expected_count;
        bool prepared;

        /* What may be set after stack_start: how a frame at NODE of the profile is
         * written (node 0: no stack was recorded, 1: it is lost), and the line behind
         * frames whose callers are not known. */
        void (*line)(const struct stack_writer *w, uint32_t node, const struct symbol_frame *frame);
        const char *cut_off;
};

void stack_start(struct stack_writer *w, const struct selection *sel, struct symbols *s,
                 const char *indent, struct str *out);
void stack_end(struct stack_writer *w);

/* Append the frames from FROM (of SEL's tree) outwards, innermost first.  The start code
 * outside of main is left out. */
void stack_add(struct stack_writer *w, struct wrapper_frame from);

/* The stack from FROM will be written, by and by: all that will be are told, and then prepared.
 * That walks them in the order of the tree, where neighbours share most of their frames and lie
 * together in memory; when they are written in another order, nothing is left but to copy them. */
void stack_foresee(struct stack_writer *w, struct wrapper_frame from);
void stack_prepare(struct stack_writer *w);

/* The stack that ends at NODE is written STACK_AHEAD stacks from now.  In the order of reports
 * stacks are anywhere in memory; who is told so early fetches many of them at once. */
void stack_expect(struct stack_writer *w, uint32_t node);

/* The same for a whole stack of the profile, without the wrappers that SEL hides.  SEL
 * must not be of cut stacks. */
void stack_add_site(struct stack_writer *w, uint32_t node);

/* One stack alone. */
void stack_write(const struct selection *sel, struct symbols *s, struct wrapper_frame from,
                 const char *indent, struct str *out);
void stack_write_site(const struct selection *sel, struct symbols *s, uint32_t node,
                      const char *indent, struct str *out);

/* ---- call stacks and moments as fields of a table ---- */

/* Of when the numbers of SEL are: a word of --at, or A..B. */
void csv_moment(struct str *out, const struct selection *sel);

/* Whole call stacks as one field: "function [file:line]", innermost first, with ';' between.  The
 * writer is to be ended by stack_end. */
void csv_start(struct stack_writer *w, const struct selection *sel, struct symbols *s,
               struct str *out);
void csv_stack(struct stack_writer *w, struct wrapper_frame from);

#endif
