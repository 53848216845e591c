/* SPDX-License-Identifier: MIT */
/*
 * summary.h -- the numbers at a glance: what `record` prints at the end and `report --summary` prints on demand.
 *
 * Room:   outside.
 */
#ifndef SEEP_REPORT_SUMMARY_H
#define SEEP_REPORT_SUMMARY_H

#include "base/str.h"
#include "profile/model.h"
#include "report/suppress.h"
#include "symbol/symbol.h"

struct summary_options {
        const char *file; /* the recording's name for the "next" lines; NULL: none */
        int color;        /* escapes may be used */
        struct suppressions *suppressions; /* leaks that are not told, besides the usual ones; NULL: none */
};

/* Append the summary (at most 24 lines of 80 columns) to OUT. */
void summary_write(const struct profile *p, struct symbols *s, const struct summary_options *options, struct str *out);

#endif
