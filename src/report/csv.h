/* SPDX-License-Identifier: MIT */
/*
 * csv.h -- tables for programs: RFC 4180, with a line of names first.
 *
 * Room:   outside.
 */
#ifndef SEEP_REPORT_CSV_H
#define SEEP_REPORT_CSV_H

#include <stdint.h>

#include "base/str.h"
#include "names/symbol.h"
#include "report/flat.h"
#include "report/select.h"
#include "report/stack.h"
#include "report/wrapper.h"

/* One field, in quotes where it needs them; NULL is empty. */
void csv_text(struct str *out, const char *text);
void csv_number(struct str *out, uint64_t value);
void csv_signed(struct str *out, int64_t value);

/* A number, or nothing where it is not known. */
void csv_known(struct str *out, bool known, uint64_t value);

/* Of when the numbers of SEL are: a word of --at, or A..B. */
void csv_moment(struct str *out, const struct selection *sel);

/* Whole call stacks as one field: "function [file:line]", innermost first, with ';' between.  The writer is to be ended
 * by stack_end. */
void csv_start(struct stack_writer *w, const struct selection *sel, struct symbols *s, struct str *out);
void csv_stack(struct stack_writer *w, struct wrapper_frame from);

/* After the last field of a line. */
void csv_end(struct str *out);

/* The line of names, given as one text with commas. */
void csv_names(struct str *out, const char *names);

/* Append the stacks of SEL with all their costs, in the order of the key: the heap's, then those of mmap.  What is not
 * known for the moment is empty.  At most LIMIT of each (0: all). */
void csv_write(const struct selection *sel, struct symbols *s, const struct flat_options *options, struct str *out);

#endif
