/* SPDX-License-Identifier: MIT */
/* suggest.h -- "did you mean": the known word nearest to a mistyped one. */
#ifndef SEEP_CLI_SUGGEST_H
#define SEEP_CLI_SUGGEST_H

#include <stddef.h>

/* Insertions, deletions, replacements and swaps of neighbours that turn A into B;
 * words longer than 63 are cut. */
size_t suggest_distance(const char *a, const char *b);

/* The nearest of COUNT words, or NULL when none is near enough to be meant.  The first one wins a
 * tie. */
const char *suggest_nearest(const char *typed, const char *const *words, size_t count);

#endif
