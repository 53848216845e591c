/* SPDX-License-Identifier: MIT */
/* utf8.h -- which bytes are a character. */
#ifndef SEEP_BASE_UTF8_H
#define SEEP_BASE_UTF8_H

#include <stdbool.h>

#include "base/str.h"

#define UTF8_WRONG "\xef\xbf\xbd" /* U+FFFD, for what is none */

/* Bytes of the character at TEXT (up to its NUL); 0 when it is none: overlong,
 * surrogate, above U+10FFFF, cut. */
unsigned utf8_bytes(const char *text);

/* Write TEXT up to its next character that needs care: any but printable ASCII without those in
 * CARE.  *TEXT is at it then, and *BYTES as above.  false: that was all. */
bool utf8_care(struct str *out, const char **text, const char *care, unsigned *bytes);

#endif
