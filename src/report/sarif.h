/* SPDX-License-Identifier: MIT */
/*
 * sarif.h -- findings as SARIF 2.1.0, which code scanning services and editors read.
 *
 * Room:   outside.
 */
#ifndef SEEP_REPORT_SARIF_H
#define SEEP_REPORT_SARIF_H

#include "base/str.h"
#include "report/findings.h"

/* How each such file begins. */
#define SARIF_HEAD "{\"$schema\": \"https://json.schemastore.org/sarif-2.1.0.json\", \"version\": \"2.1.0\",\n" \
                   " \"runs\": [{\"tool\": {\"driver\": {\"name\": \"seep\""

/* Append the file.  What breaks a budget is an error, what is within one a warning; hints and what is known are notes. */
void sarif_write(const struct findings *f, const struct location_root *root, struct str *out);

#endif
