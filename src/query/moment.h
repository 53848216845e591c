/* SPDX-License-Identifier: MIT */
/*
 * moment.h -- words for moments of a recording: --at WHEN, --range A..B, FILE@WHEN.
 *
 * A word is tried in this order, so that its meaning does not depend on the labels that a program
 * chose:
 *
 *   start, peak, end   before everything; the maximum of live bytes; the end of the recording
 *   2                  the second snapshot
 *   1.5s 200ms 1.5     a time, with a unit or a point (seconds)
 *   LABEL              a tag or a snapshot of that label, the first one
 *   LABEL:2            its second occurrence
 *
 * "end:1" is thus the tag "end", "2:1" a snapshot labelled "2".
 */
#ifndef SEEP_QUERY_MOMENT_H
#define SEEP_QUERY_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "profile/model.h"

enum moment_type {
        MOMENT_NONE,
        MOMENT_START,
        MOMENT_PEAK,
        MOMENT_END,
        MOMENT_TIME,
        MOMENT_MARK
};

struct moment {
        enum moment_type type;
        uint32_t mark; /* MOMENT_MARK: index into the marks of the profile */
        uint64_t ms;   /* 0 at the start, UINT64_MAX at the end */
};

/* false: P has no such moment (exit code 2); the message lists those it has. */
bool moment_find(const struct profile *p, const char *word, struct moment *m, struct err *e);

/* "A..B"; A may be left out for the start, B for the end.  false also when B is earlier
 * than A, and for the peak. */
bool moment_range(const struct profile *p, const char *words, struct moment *from,
                  struct moment *to, struct err *e);

/* Append "the start", "the peak", "the end", "1.5 s", "snapshot 2 (label)", "tag label" */
void moment_name(const struct profile *p, const struct moment *m, struct str *out);

/* When that is: within the recording, also for the start, the peak and the end. */
uint64_t moment_ms(const struct profile *p, const struct moment *m);

/* Append the word that finds it again: "end", "peak", "1500ms", "2", "loaded", "loaded:2". */
void moment_word(const struct profile *p, const struct moment *m, struct str *out);

/* The last '@' of "FILE@WHEN", behind which the word begins; NULL when there is none, or when
 * OPERAND as a whole is an existing file. */
const char *moment_split(const char *operand);

/* When call stacks were looked at last until M: less often than at totals.  M
 * itself where they were then. */
struct moment moment_stacks(const struct profile *p, const struct moment *m);

#endif
