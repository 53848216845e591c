/* SPDX-License-Identifier: MIT */
/* merge.h -- merging rows of the same stack and kind. */
#ifndef SEEP_QUERY_MERGE_H
#define SEEP_QUERY_MERGE_H

#include <stdint.h>

#include "query/select.h"

/* The row of the smallest site takes the others over and becomes their leader. */
void merge_rows(struct selection *sel);

/* Rows whose stacks look the same, line by line, where some frames are not shown (fold.h).  Before
 * anything was made from the rows. */
void merge_shown(struct selection *sel, struct symbols *s);

/* Add the numbers of ROW to those of TO. */
void merge_add(struct select_row *to, const struct select_row *row);

/* ---- stacks that are equal in their N innermost frames, made one (--depth-merge) ---- */

/* Give SEL a tree of its own, of stacks of at most DEPTH frames.  Rows of one stack are left to
 * merge.h. */
void cut_stacks(struct selection *sel, uint32_t depth);

#endif
