/* SPDX-License-Identifier: MIT */
/*
 * screen_table.h -- what the rooms of screen.h share.
 *
 * Room:   outside, top/ only.
 */
#ifndef SEEP_TOP_SCREEN_TABLE_H
#define SEEP_TOP_SCREEN_TABLE_H

#include "top/screen.h"

/* Append a curve of the heap, WIDTH columns wide; and the time that it covers. */
void spark_write(const struct screen_input *in, uint32_t width, struct str *out);
void spark_span(const struct screen_input *in, struct str *out);

/* Fill LINE with the names of the columns, or with row INDEX. */
void table_heading(const struct screen_input *in, struct screen_line *line);
void table_row(const struct screen_input *in, uint32_t index, struct screen_line *line);

#endif
