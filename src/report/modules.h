/* SPDX-License-Identifier: MIT */
/*
 * modules.h -- a table of the programs and libraries that allocated.
 *
 * Room:   outside.  `seep report --modules`.
 */
#ifndef SEEP_REPORT_MODULES_H
#define SEEP_REPORT_MODULES_H

#include <stdint.h>

#include "base/str.h"
#include "query/select.h"

/* Append the table, the largest of the chosen cost first, at most LIMIT lines (0: all).  A module has what its own
 * functions allocated; what they only passed on (hidden wrappers) counts for the caller. */
void modules_write(const struct selection *sel, uint32_t limit, struct str *out);

#endif
