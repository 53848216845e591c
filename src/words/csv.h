/* SPDX-License-Identifier: MIT */
/* csv.h -- CSV tables: RFC 4180, with a header line. */
#ifndef SEEP_WORDS_CSV_H
#define SEEP_WORDS_CSV_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* One field, in quotes where it needs them; NULL is empty. */
void csv_text(struct str *out, const char *text);
void csv_number(struct str *out, uint64_t value);
void csv_signed(struct str *out, int64_t value);

/* A number, or nothing where it is not known. */
void csv_known(struct str *out, bool known, uint64_t value);

/* After the last field of a line. */
void csv_end(struct str *out);

/* The line of names, given as one text with commas. */
void csv_names(struct str *out, const char *names);

/* Whether a spreadsheet would compute TEXT; behind an apostrophe it is text. */
bool csv_computes(const char *text);

#endif
