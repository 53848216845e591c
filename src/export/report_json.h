/* SPDX-License-Identifier: MIT */
/* report_json.h -- the machine-readable report, version 1.  Fields may be added, never renamed. */
#ifndef SEEP_EXPORT_REPORT_JSON_H
#define SEEP_EXPORT_REPORT_JSON_H

#include "base/str.h"
#include "export/frames.h"
#include "names/symbol.h"
#include "query/diff.h"
#include "query/findings.h"
#include "query/fragmentation.h"
#include "query/leaks.h"
#include "query/select.h"
#include "query/types.h"
#include "query/why.h"

/* Append the report: the totals of the recording at SEL's moment, the sites of SEL and of RESOURCES
 * (NULL: none), which was asked for resources.  All numbers are of that moment, which is named;
 * what is not known of it is null. */
void report_json_write(const struct selection *sel, const struct selection *resources,
                       struct symbols *s, struct str *out);

/* What only `leaks`, `diff`, `why`, `report --types` and `check` have. */
void leaks_json(const struct leaks *l, struct symbols *s, const struct leaks_options *o,
                struct str *out);
void diff_json(const struct diff *d, const struct diff_options *options, struct str *out);
void why_json(const struct why *w, const struct why_options *o, struct str *out);
void types_json(const struct types *t, struct str *out);
struct types_diff;
struct types_diff_sides;
void types_diff_json(const struct types_diff *d, const struct types_diff_sides *sides,
                     struct str *out);
void fragmentation_json(const struct fragmentation *f, struct symbols *s, uint64_t limit,
                        struct str *out);
void findings_json(const struct findings *f, struct str *out);

/* Parts that several of them have. */

/* Append the begin: what was recorded, what of it was not seen, and how it ended. */
void report_json_recording(const struct profile *p, struct str *out);

/* Append BEFORE and a signed number, or null where it is not known. */
void report_json_known(struct str *out, const char *before, bool known, uint64_t value);

/* Append of when the numbers of SEL are: {"at": "peak", "ms": 12}, {"range": [{...},
 * {...}], "survivors": true}. */
void report_json_moment(const struct selection *sel, struct str *out);

/* Append the totals of the whole recording, as fields of an object. */
void report_json_total_numbers(const struct profile *p, struct str *out);

/* Append the numbers of a site, from ", \"allocations\"" on.  LEAK: by class; NULL: all zero. */
void report_json_site_numbers(const struct select_row *row, const struct leaks_sum *leak,
                              const struct select_known *known, struct str *out);

/* Append the sums of all classes, as fields of an object; NULL: they are not known. */
void report_json_classes(const struct leaks_sum *sums, struct str *out);

/* Append the object behind "leaks". */
void report_json_leaks(const struct leaks *l, struct str *out);

/* Append the invalid frees of P but those marked in SKIP (NULL: none), as members of a
 * list.  Stacks are those of F. */
void report_json_errors(const struct profile *p, const uint8_t *skip, struct frames *f,
                        struct str *out);

#endif
