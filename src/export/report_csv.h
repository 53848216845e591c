/* SPDX-License-Identifier: MIT */
/* report_csv.h -- the table of call stacks with all their costs: `report --csv`. */
#ifndef SEEP_EXPORT_REPORT_CSV_H
#define SEEP_EXPORT_REPORT_CSV_H

#include "base/str.h"
#include "names/symbol.h"
#include "query/select.h"
#include "report/flat.h"

/* Append the stacks of SEL with all their costs, in the order of the key: the heap's, then those of
 * mmap.  What is not known for the moment is empty.  At most LIMIT of each (0: all). */
void report_csv_write(const struct selection *sel, struct symbols *s,
                      const struct flat_options *options, struct str *out);

#endif
