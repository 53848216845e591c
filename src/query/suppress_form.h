/* SPDX-License-Identifier: MIT */
/*
 * suppress_form.h -- what the parts of suppress.h share.
 *
 * Room:   outside.  suppress.c and suppress_parse.c only.
 */
#ifndef SEEP_QUERY_SUPPRESS_FORM_H
#define SEEP_QUERY_SUPPRESS_FORM_H

#include "query/suppress.h"

/* Add a line of Valgrind's form ("fun:main", "...") to RULE.  false: it is none. */
bool suppress_parse_line(struct suppress_rule *rule, const char *text);

#endif
