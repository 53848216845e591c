/* SPDX-License-Identifier: MIT */
/*
 * json.h -- the machine-readable report, version 1.  Fields may be added, never renamed.
 *
 * Room:   outside.
 */
#ifndef SEEP_REPORT_JSON_H
#define SEEP_REPORT_JSON_H

#include "base/str.h"
#include "report/select.h"
#include "symbol/symbol.h"

/* Append the report: totals of the whole recording, the sites of SEL and of RESOURCES (NULL: none), which was asked
 * for resources. */
void json_write(const struct selection *sel, const struct selection *resources, struct symbols *s, struct str *out);

/* Append the numbers of a site, from ", \"allocations\"" on. */
void json_site_numbers(const struct select_row *row, struct str *out);

#endif
