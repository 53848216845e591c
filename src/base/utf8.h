/* SPDX-License-Identifier: MIT */
/*
 * utf8.h -- which bytes are a character.
 *
 * Room:   outside; any layer.
 */
#ifndef SEEP_BASE_UTF8_H
#define SEEP_BASE_UTF8_H

#define UTF8_WRONG "\xef\xbf\xbd" /* U+FFFD, for what is none */

/* Bytes of the character at TEXT (up to its NUL); 0 when it is none: overlong, surrogate, above U+10FFFF, cut. */
unsigned utf8_bytes(const char *text);

#endif
