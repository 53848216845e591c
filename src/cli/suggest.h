/* SPDX-License-Identifier: MIT */
/*
 * suggest.h -- "did you mean": the known word nearest to a mistyped one.
 *
 * Room:   outside, cli/ only.
 */
#ifndef SEEP_CLI_SUGGEST_H
#define SEEP_CLI_SUGGEST_H

#include <stddef.h>

/* The one of COUNT WORDS nearest to WORD (letters left out, added, changed, swapped); NULL when none is near. */
const char *suggest_nearest(const char *word, const char *const *words, size_t count);

#endif
