/* SPDX-License-Identifier: MIT */
/*
 * json.h -- text inside JSON.
 *
 * Room:   outside; any layer.
 */
#ifndef SEEP_BASE_JSON_H
#define SEEP_BASE_JSON_H

#include "base/str.h"

/* Append TEXT as a JSON string, null for NULL.  Bytes that are no UTF-8 become U+FFFD, so that the output always is. */
void json_text(struct str *out, const char *text);

#endif
