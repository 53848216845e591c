/* SPDX-License-Identifier: MIT */
/*
 * junit.h -- findings as JUnit XML, the report of tests that every CI server reads.
 *
 * Room:   outside.
 */
#ifndef SEEP_REPORT_JUNIT_H
#define SEEP_REPORT_JUNIT_H

#include "base/str.h"
#include "report/findings.h"

/* How each such file begins. */
#define JUNIT_HEAD "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"seep check\""

/* Append the file: a suite for each process with a case for each budget, and one with a case for each place where something is lost or
 * released wrongly.  Names do not change from run to run: they have no pid, line or address. */
void junit_write(const struct findings *f, struct str *out);

#endif
