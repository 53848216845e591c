/* SPDX-License-Identifier: MIT */
/*
 * histogram.h -- sizes and lifetimes in classes of powers of two, drawn as bars.
 *
 * Room:   outside.  `seep report --sizes` and `--lifetimes`.
 *
 * Of the whole process both are exact, counted event by event.  Of a part of the stacks or of another moment only what
 * is known per stack or per live block can be shown; the heading then says which.
 */
#ifndef SEEP_REPORT_HISTOGRAM_H
#define SEEP_REPORT_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "query/select.h"

struct histogram_options {
        bool whole;                  /* nothing was chosen: of the whole process */
        const struct filter *filter; /* for the threads of live blocks; NULL: all */
        uint32_t columns;            /* of the output */
};

/* Append sizes: of all allocations (cost total or allocs), of the blocks not freed (live), or by each stack's
 * average. */
void histogram_sizes(const struct selection *sel, const struct histogram_options *options, struct str *out);

/* Append how long blocks lived that were freed: each, or by each stack's average.  The selection must be of the run. */
void histogram_lifetimes(const struct selection *sel, const struct histogram_options *options, struct str *out);

#endif
