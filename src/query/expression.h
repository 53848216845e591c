/* SPDX-License-Identifier: MIT */
/* expression.h -- regular expressions from the user, with errors that point at the place. */
#ifndef SEEP_QUERY_EXPRESSION_H
#define SEEP_QUERY_EXPRESSION_H

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Several expressions of which one has to match. */
struct expressions {
        regex_t *all;
        uint32_t count;
};

/* Add a POSIX extended expression; it matches anywhere in a text unless it is anchored.  false: it
 * is not one, and the text of E (exit code 2) shows it with a caret below the fault. */
bool expressions_add(struct expressions *x, const char *text, struct err *e);
bool expressions_match(const struct expressions *x, const char *text);
void expressions_free(struct expressions *x);

#endif
