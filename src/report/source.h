/* SPDX-License-Identifier: MIT */
/*
 * source.h -- the lines of a source file with what they allocate in the margin.
 *
 * Room:   outside.  `seep report --source FILE`.
 */
#ifndef SEEP_REPORT_SOURCE_H
#define SEEP_REPORT_SOURCE_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"
#include "report/select.h"
#include "symbol/symbol.h"

/* Append each source file whose path ends in FILE ("a.c", "src/a.c"): per line what it allocates itself and what passes
 * through it, each stack once.  The text is taken from where the debug information says, below the sysroot, or below
 * a debug path with leading folders left out; without it there are line numbers only.  false: no line of such a
 * file is in the stacks (exit code 2). */
bool source_write(const struct selection *sel, struct symbols *s, const char *file, const struct symbol_options *names,
                  struct str *out, struct err *e);

#endif
