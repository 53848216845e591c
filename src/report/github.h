/* SPDX-License-Identifier: MIT */
/*
 * github.h -- findings where GitHub shows them: beside the source lines, and on the page of the job.
 *
 * Room:   outside.
 */
#ifndef SEEP_REPORT_GITHUB_H
#define SEEP_REPORT_GITHUB_H

#include "base/str.h"
#include "report/findings.h"

/* Append workflow commands for what breaks budgets, the worst first; at most ten, more are not shown. */
void github_annotations(const struct findings *f, struct str *out);

/* Append the summary of a job, in Markdown. */
void github_summary(const struct findings *f, struct str *out);

#endif
