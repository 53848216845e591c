/* SPDX-License-Identifier: MIT */
/* json.h -- text and numbers inside JSON. */
#ifndef SEEP_BASE_JSON_H
#define SEEP_BASE_JSON_H

#include <stdint.h>

#include "base/str.h"

/* Append TEXT as a JSON string, null for NULL.  Bytes that are not UTF-8 become U+FFFD. */
void json_text(struct str *out, const char *text);

void json_number(struct str *out, uint64_t value);

/* Append BEFORE ("{\"", ", \""), NAME, the closing quote, and the value.  json_signed_field() takes
 * negative numbers as uint64_t (two's complement). */
void json_field(struct str *out, const char *before, const char *name, uint64_t value);
void json_text_field(struct str *out, const char *before, const char *name, const char *text);
void json_signed_field(struct str *out, const char *before, const char *name, uint64_t value);

/* Append the members of a place in the source: , "file": ..., "line": ...; null when unknown (NULL,
 * 0). */
void json_place(struct str *out, const char *file, uint64_t line);

#endif
