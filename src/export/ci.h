/* SPDX-License-Identifier: MIT */
/* ci.h -- findings for CI servers, code scanning and editors: SARIF, JUnit, GitHub, Valgrind's
 * XML. */
#ifndef SEEP_EXPORT_CI_H
#define SEEP_EXPORT_CI_H

#include "base/str.h"
#include "query/findings.h"

/* How each such file begins. */
#define SARIF_HEAD "{\"$schema\": \"https://json.schemastore.org/sarif-2.1.0.json\", " \
                   "\"version\": \"2.1.0\",\n"                                         \
                   " \"runs\": [{\"tool\": {\"driver\": {\"name\": \"seep\""
#define JUNIT_HEAD "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"seep check\""
#define VALGRIND_XML_HEAD "<?xml version=\"1.0\"?>\n\n<!-- written by seep -->\n<valgrindoutput>\n"

/* Append the file.  What breaks a budget is an error, what is within one a warning; hints and
 * what is known are notes. */
void sarif_write(const struct findings *f, const struct location_root *root, struct str *out);

/* Append the file: a suite for each process with a case for each budget, and one with a case for
 * each place where something is lost or released wrongly.  Names do not change from run to run:
 * they have no pid, line or address. */
void junit_write(const struct findings *f, struct str *out);

/* Append the file.  Of several processes the first heads it, and what all of them have follows.
 * What the baseline knows is counted as suppressed. */
void valgrind_xml_write(const struct findings *f, struct str *out);

/* Append workflow commands for what breaks budgets, the worst first; at most ten, more are not
 * shown. */
void github_annotations(const struct findings *f, struct str *out);

/* Append the summary of a job, in Markdown. */
void github_summary(const struct findings *f, struct str *out);

#endif
