/* SPDX-License-Identifier: MIT */
/*
 * summary_parts.h -- what the parts of the summary share.
 *
 * Room:   outside.  summary.c, summary_end.c, summary_places.c and summary_verdicts.c only.
 */
#ifndef SEEP_REPORT_SUMMARY_PARTS_H
#define SEEP_REPORT_SUMMARY_PARTS_H

#include <stdbool.h>

#include "query/growth.h"
#include "query/leaks.h"
#include "report/stack_line.h"
#include "report/summary.h"

enum { SUMMARY_LINES = 24, SUMMARY_COLUMNS = STACK_LINE_COLUMNS, SUMMARY_TOP = 5 };

/* A place that is named: where memory was lost or, when nothing was, where it was not freed, or
 * what the peak was made of. */
struct summary_top {
        uint32_t site; /* the stack of it that has most */
        struct leaks_sum left, hanging;
};

struct summary {
        const struct profile *p;
        struct symbols *symbols;
        const struct summary_options *options;
        struct str *out;
        size_t start; /* where the summary begins in it */
        struct summary_top top[SUMMARY_TOP];
        uint32_t top_count;
        struct summary_top peak; /* with the largest part of the peak; site 0: none */
        struct summary_top mapped; /* ... of what is mapped at the end, but stacks, where that is
                                    * most of all */
        struct growth *growth; /* by site */
        uint32_t grown;        /* the site that grew fastest and was freed at the end; 0 none ... */
        uint32_t grown_more;   /* ... and how many other ones */
        bool resources;        /* some were not released */
        bool lost;             /* leaks are what is told */
        struct selection sel;  /* for the leaks */
        struct leaks leaks;
};

/* The places with most heap at the end or at the peak, or with most that is mapped at the end (but
 * stacks of threads), the largest first; returns how many. */
enum summary_measure { SUMMARY_AT_END, SUMMARY_AT_PEAK, SUMMARY_MAPPED };
uint32_t summary_places(struct summary *m, enum summary_measure measure,
                        struct summary_top top[SUMMARY_TOP]);

/* Find the stacks to be named. */
void summary_find_top(struct summary *m);

/* Whether one of them grows. */
bool summary_grows(const struct summary *m);

/* Append what was lost and what was not freed; BELOW lines follow it. */
void summary_end(struct summary *m, uint32_t below);

/* Find what is lost. */
void summary_search(struct summary *m);

/* A line that begins with LABEL and BYTES; and one that says who has most of WHOLE bytes; WORD
 * is what these are called. */
void summary_size(struct summary *m, const char *label, uint64_t bytes);
void summary_most(struct summary *m, const struct summary_top *top, uint64_t whole,
                  const char *word);

/* Lines, one or two each, or none where there is nothing to say. */
void summary_nothing(struct summary *m);
void summary_peak(struct summary *m);
void summary_calls(struct summary *m);
bool summary_maps_stacks_only(const struct summary *m);
void summary_mapped(struct summary *m);
void summary_rss(struct summary *m);

/* Free memory of the allocator, when that is most of what is resident, on as many as LINES lines;
 * 1: without what helps; 0: on one line, however long. */
void summary_free(struct summary *m, uint32_t lines);

void summary_modules(struct summary *m);
void summary_scripts(struct summary *m); /* functions of Python, JavaScript, Java without names */
void summary_errors(struct summary *m);
void summary_lost(struct summary *m);

/* Whether BYTES are a very small part of what the program used: nothing to begin with. */
enum { SUMMARY_LITTLE_PART = 1000 };
bool summary_is_little(const struct summary *m, uint64_t bytes);

/* Whether that is true of what is lost, and it does not grow. */
bool summary_lost_little(const struct summary *m);
void summary_not_freed(struct summary *m);
void summary_all_freed(struct summary *m); /* as far as a sample can tell */
void summary_site(struct summary *m, uint32_t number); /* of the stacks to be named */
void summary_grown(struct summary *m); /* what grew and was freed at the end */

/* Append BEFORE, "12.0 KiB in 3 blocks" and BEHIND. */
void summary_amount(struct summary *m, const char *before, const struct leaks_sum *sum,
                    const char *behind);

/* Append FIRST and TEXT on as many as LINES lines, broken at spaces; the last one is cut. */
void summary_fold(struct summary *m, const char *first, const char *text, uint32_t lines);

/* Append "function file:line <- caller" to the line that begins at START, leaving RESERVED columns
 * free, and KEPT of them even where the function must be shortened for it. */
void summary_stack(struct summary *m, uint32_t node, size_t start, size_t reserved, size_t kept);

#endif
