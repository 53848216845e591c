/* SPDX-License-Identifier: MIT */
/* words.h -- a line of text split into arguments, as a shell would. */
#ifndef SEEP_CLI_WORDS_H
#define SEEP_CLI_WORDS_H

#include "base/err.h"
#include "base/str.h"

/* Split TEXT at white space; '...' and "..." group, a backslash takes the next character as it
 * is (not inside '...').  Returns a vector ended by NULL, for words_free(); NULL with E filled
 * when a quote is not closed. */
char **words_split(const char *text, int *count, struct err *e);
void words_free(char **words);

/* Append the word that starts at AT to WORD; it ends before one of STOPS that is neither quoted nor
 * behind a backslash.  Returns where it ends, NULL when a quote stays open. */
const char *words_take(const char *at, const char *stops, struct str *word);

#endif
