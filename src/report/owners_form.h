/* SPDX-License-Identifier: MIT */
/*
 * owners_form.h -- what the rooms of owners.h share.
 *
 * Room:   outside, report/owners_*.c only.
 */
#ifndef SEEP_REPORT_OWNERS_FORM_H
#define SEEP_REPORT_OWNERS_FORM_H

#include "query/owners.h"

/* How many of COUNT rows are shown. */
uint32_t owners_shown(const struct owners *w, uint32_t count);

/* Append the first two lines of a table, and the first columns of a row. */
void owners_title(const struct owners *w, const char *what, const char *column);
void owners_row(const struct owners *w, struct graph_sum sum);

/* Append the beginning of the object, and BEFORE and a sum by NAME. */
void owners_json_head(const struct owners *w);
void owners_json_sum(const struct owners *w, const char *before, const char *name, struct graph_sum sum);

void owners_sites(struct owners *w);

#endif
