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
#include "symbol/symbol.h"

/* Append the summary (at most 24 lines of 80 columns) to OUT.  FILE is the recording's name for the "next" lines,
 * COLOR whether escapes may be used. */
void summary_write(const struct profile *p, struct symbols *s, const char *file, int color, struct str *out);

#endif
