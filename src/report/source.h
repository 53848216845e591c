/* SPDX-License-Identifier: MIT */
/*
 * source.h -- the lines of a source file, with what they allocate in the margin.
 *
 * Room:   outside.  `seep report --source FILE`.
 */
#ifndef SEEP_REPORT_SOURCE_H
#define SEEP_REPORT_SOURCE_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"
#include "names/source.h"
#include "names/symbol.h"
#include "query/select.h"

/* Append each source file whose path ends in FILE ("a.c", "src/a.c"): per line what it allocates
 * itself and what passes through it, each stack once.  Without the text (source_read) there are
 * line numbers only.  false: no line of such a file is in the stacks (exit code 2). */
bool source_write(const struct selection *sel, struct symbols *s, const char *file,
                  const struct symbol_options *names, struct str *out, struct err *e);

#endif
