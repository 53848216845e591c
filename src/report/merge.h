/* SPDX-License-Identifier: MIT */
/*
 * merge.h -- rows of one stack and kind, made one.
 *
 * Room:   outside.
 */
#ifndef SEEP_REPORT_MERGE_H
#define SEEP_REPORT_MERGE_H

#include "report/select.h"

/* The row of the smallest site takes the others over and becomes their leader. */
void merge_rows(struct selection *sel);

/* Add the numbers of ROW to those of TO. */
void merge_add(struct select_row *to, const struct select_row *row);

#endif
