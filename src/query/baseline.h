/* SPDX-License-Identifier: MIT */
/*
 * baseline.h -- leaks and wrong releases that were there before: a text file, one line for each place.
 *
 * Keeps:  places are the same when the names of their functions are: lines and addresses do not count, nor does a recursion's depth,
 *         nor how many blocks there are.  Definitely and indirectly lost is one and the same here: of a lost cycle any block may be the head.
 *
 *     # seep baseline 1
 *     leak 3f2a9c0011223344 parse < load < main
 */
#ifndef SEEP_QUERY_BASELINE_H
#define SEEP_QUERY_BASELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "query/findings.h"

#define BASELINE_HEAD "# seep baseline 1\n"
#define BASELINE_MARK "# seep baseline " /* of any version, and with the line's end of any system */

struct baseline_entry {
        char *line;   /* "leak 3f2a... parse < load < main" */
        uint64_t key; /* of kind and fingerprint */
        bool seen;
};

/* Zeroed: nothing is known. */
struct baseline {
        struct baseline_entry *entries; /* sorted by key */
        uint32_t count;
};

/* Whether TEXT is a baseline and not a recording, say; an editor may have put a byte order mark before it. */
bool baseline_is(const char *text);

/* Add the entries of TEXT, which came from the file NAME.  false: E (exit code 4) names the line. */
bool baseline_parse(struct baseline *b, const char *name, const char *text, struct err *e);

/* Add what F has. */
void baseline_take(struct baseline *b, const struct findings *f);
void baseline_free(struct baseline *b);

/* Whether such a finding is known; it is then marked as seen.  B may be NULL. */
bool baseline_knows(struct baseline *b, enum finding_kind kind, uint64_t fingerprint);

/* The entries that were not seen, into F. */
void baseline_tell_gone(const struct baseline *b, struct findings *f);

/* Append the file: sorted by names, so that a new leak is one new line. */
void baseline_write(const struct baseline *b, struct str *out);

#endif
