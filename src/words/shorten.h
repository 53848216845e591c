/* SPDX-License-Identifier: MIT */
/* shorten.h -- names of functions shortened to fit a width. */
#ifndef SEEP_WORDS_SHORTEN_H
#define SEEP_WORDS_SHORTEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

/* Bring NAME to at most COLUMNS columns by leaving out what it can miss: "f(int)" is "f(...)", then
 * "v<int>" is "v<...>".  It may stay longer. */
void shorten_arguments(struct str *name, size_t columns);

/* The same, then with "{lambda#1}" for a lambda, without the type it returns, with "()" and "<>",
 * and with "...::" for the outer namespaces, so that "class::function" is kept the longest; at last
 * the end of the function's own name is cut.  false: that was needed. */
bool shorten_name(struct str *name, size_t columns);

#endif
