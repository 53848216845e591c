/* SPDX-License-Identifier: MIT */
/*
 * memlog.h -- signed bytes per call stack, innermost frame first, largest growth first: the
 * format of MTrace's reports.
 *
 *     +63360
 *     <tab>FUNCTION<tab>(OBJECT)<tab>FILE:LINE      without the last part when the line is not
 *                                                   known
 *     <tab>OBJECT                                   when no function is known
 */
#ifndef SEEP_REPORT_MEMLOG_H
#define SEEP_REPORT_MEMLOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "names/symbol.h"
#include "profile/model.h"
#include "query/select.h"
#include "report/stack.h"

/* As FROM: before everything, so that the whole state of TO is written. */
#define MEMLOG_START UINT32_MAX

struct memlog_range {
        uint32_t from, to; /* indices of slices of the profile */
};

/* Append how the live bytes of the heap changed between two slices.  Stacks that did
 * not change are left out. */
void memlog_write(const struct profile *p, struct symbols *s, const struct memlog_range *range,
                  struct str *out);

/* For single entries: a writer of stacks in this format (to be ended by stack_end), and an entry
 * with the stack from FROM outwards. */
void memlog_start(struct stack_writer *w, const struct selection *sel, struct symbols *s,
                  struct str *out);
void memlog_add(struct stack_writer *w, struct wrapper_frame from, int64_t number);

struct memlog_options {
        uint32_t limit; /* 0: all */
        bool abs;       /* by memlog_order_abs() */
};

/* Append the chosen cost of the heap's stacks in SEL. */
void memlog_selection(const struct selection *sel, struct symbols *s,
                      const struct memlog_options *options, struct str *out);

#endif
