/* SPDX-License-Identifier: MIT */
/* json.h -- text and numbers inside JSON. */
#ifndef SEEP_BASE_JSON_H
#define SEEP_BASE_JSON_H

#include <stdint.h>

#include "base/str.h"

/* Append TEXT as a JSON string, null for NULL.  Bytes that are no UTF-8 become U+FFFD, so
 * that the output always is. */
void json_text(struct str *out, const char *text);

void json_number(struct str *out, uint64_t value);

/* Append BEFORE ("{\"", ", \""), NAME, the quote that ends it, and the value; negative numbers
 * are stored as they wrap. */
void json_field(struct str *out, const char *before, const char *name, uint64_t value);
void json_text_field(struct str *out, const char *before, const char *name, const char *text);
void json_signed_field(struct str *out, const char *before, const char *name, uint64_t value);

/* Append members of an object that tell a place in the source: , "file": ..., "line": ...; null is
 * what is unknown (NULL, 0). */
void json_place(struct str *out, const char *file, uint64_t line);

#endif
