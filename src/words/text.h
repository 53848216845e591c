/* SPDX-License-Identifier: MIT */
/* text.h -- numbers in readable form. */
#ifndef SEEP_WORDS_TEXT_H
#define SEEP_WORDS_TEXT_H

#include <stdint.h>

#include "base/str.h"

/* "73512" */
void text_plain_number(struct str *out, uint64_t value);

/* "73,512", "-1,024" */
void text_number(struct str *out, int64_t value);

/* "1 block", "2,000 blocks": NOUN with an s unless there is one of it */
void text_count(struct str *out, int64_t value, const char *noun);

/* "   1. ": in front of an entry of a list */
void text_item(struct str *out, uint32_t number);

/* "512 B", "182.4 MiB"; units of 1024 */
void text_size(struct str *out, int64_t bytes);

/* "850 ms", "12.4 s", "3 min 20 s", "2 h 5 min" */
void text_time(struct str *out, uint64_t ms);
void text_age(struct str *out, int64_t ms); /* the same, for text_cell() */

/* "31 %"; "0.4 %" below ten; of a WHOLE of 0: "0 %" */
void text_share(struct str *out, double part, double whole);

/* VALUE as PRINT writes it, right-aligned in WIDTH columns */
void text_cell(struct str *out, int width, uint64_t value, void (*print)(struct str *, int64_t));

/* "31.25%" of a PART between 0 and 1 */
void text_percent(struct str *out, double part);

/* The columns that S takes from byte START on; terminal escapes take none. */
size_t text_columns(const struct str *s, size_t start);

/* The NAME of a thread or tag (NULL: "?"), which the program chose: control characters become
 * spaces. */
void text_name(struct str *out, const char *name);

/* Spaces until COLUMN columns have been used since byte START of OUT. */
void text_pad(struct str *out, size_t start, size_t column);

/* Cut what was added to OUT since byte START to COLUMNS columns, with "..." at the end when
 * something was lost.  Escapes stay. */
void text_cut(struct str *out, size_t start, size_t columns);

/* Terminal escapes, or nothing when COLOR is 0. */
#define TEXT_BOLD "1"
#define TEXT_RED "31"
#define TEXT_YELLOW "33"
#define TEXT_CYAN "36"
void text_color(struct str *out, int color, const char *code);
void text_plain(struct str *out, int color);

/* Append TEXT in lines of at most COLUMNS, broken at spaces, each behind INDENT.  Words
 * that are longer stay whole. */
void text_fold(struct str *out, const char *indent, const char *text, size_t columns);

#endif
