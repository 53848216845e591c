/* SPDX-License-Identifier: MIT */
/*
 * bytes.h -- copying and comparing, as the compiler expects it without a libc.
 *
 * Room:   inside; any context.  Hidden: the program's own functions of these names are untouched.
 */
#ifndef SEEP_AGENT_BYTES_H
#define SEEP_AGENT_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *memcpy(void *restrict to, const void *restrict from, size_t count);
void *memmove(void *to, const void *from, size_t count);
void *memset(void *to, int byte, size_t count);
int memcmp(const void *a, const void *b, size_t count);
size_t strlen(const char *text);

bool bytes_same_text(const char *a, const char *b);

/* Whether TEXT begins with PREFIX; the rest of TEXT, or NULL. */
const char *bytes_after(const char *text, const char *prefix);

/* The first BYTE in TEXT; NULL: it has none. */
const char *bytes_find(const char *text, char byte);

/* Read a hexadecimal number at *TEXT and move past it. */
uint64_t bytes_hex(const char **text);

#endif
