/* SPDX-License-Identifier: MIT */
/* stack_csv.h -- call stacks and moments as fields of a table. */
#ifndef SEEP_REPORT_STACK_CSV_H
#define SEEP_REPORT_STACK_CSV_H

#include "base/str.h"
#include "names/symbol.h"
#include "query/select.h"
#include "query/wrapper.h"
#include "report/stack.h"

/* Of when the numbers of SEL are: a word of --at, or A..B. */
void csv_moment(struct str *out, const struct selection *sel);

/* Whole call stacks as one field: "function [file:line]", innermost first, with ';' between.  The writer is to be ended
 * by stack_end. */
void csv_start(struct stack_writer *w, const struct selection *sel, struct symbols *s, struct str *out);
void csv_stack(struct stack_writer *w, struct wrapper_frame from);

#endif
