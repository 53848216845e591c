/* SPDX-License-Identifier: MIT */
/*
 * callers.h -- who calls a function, and what is allocated through it.
 *
 * Room:   outside.  `seep report --callers FUNCTION`.
 */
#ifndef SEEP_REPORT_CALLERS_H
#define SEEP_REPORT_CALLERS_H

#include "base/err.h"
#include "base/str.h"
#include "names/symbol.h"
#include "query/select.h"
#include "report/tree.h"

/* Append the tree of callers of FUNCTION: a name, with or without its parameters, or else a regular expression.  Each
 * stack counts once, from its outermost frame of such a name: recursion is no caller.  SEL keeps only those stacks.
 * false: there is none (exit code 2). */
bool callers_write(struct selection *sel, struct symbols *s, const char *function, const struct tree_options *options,
                   struct str *out, struct err *e);

#endif
