/* SPDX-License-Identifier: MIT */
/*
 * baseline.h -- known leaks and invalid frees: a text file with a line for each place.
 *
 * Keeps:  places are the same when the names of their functions are: lines and addresses do not
 *         count, nor does a recursion's depth.  Definitely and indirectly lost is one and the same
 *         here: of a lost cycle any block may be the head.  A leak has the bytes that the whole run
 *         lost there; what loses more is no longer the one that was known.
 *
 *     # seep baseline 2
 *     leak 3f2a9c0011223344 350B parse < load < main
 *
 * Version 1 has no amounts: there any amount is known.
 */
#ifndef SEEP_QUERY_BASELINE_H
#define SEEP_QUERY_BASELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "query/findings.h"

#define BASELINE_HEAD "# seep baseline 2\n"
#define BASELINE_MARK "# seep baseline " /* of any version, and with the line's end of any system */

struct baseline_entry {
        char *line;   /* "leak 3f2a... parse < load < main" */
        uint64_t key; /* of kind and fingerprint */
        uint64_t bytes; /* BASELINE_ANY: nobody knows */
        uint64_t found; /* in this run so far */
        bool seen;
};

#define BASELINE_ANY UINT64_MAX

/* Zeroed: nothing is known. */
struct baseline {
        struct baseline_entry *entries; /* sorted by key */
        uint32_t count;
        uint32_t tolerance; /* per cent that an amount may be larger */
};

/* Whether TEXT is a baseline and not a recording, say; an editor may have put a
 * byte order mark before it. */
bool baseline_is(const char *text);

/* Add the entries of TEXT, which came from the file NAME.  false: E (exit code 4) names the
 * line. */
bool baseline_parse(struct baseline *b, const char *name, const char *text, struct err *e);

/* Add what F has. */
void baseline_take(struct baseline *b, const struct findings *f);
void baseline_free(struct baseline *b);

/* Whether such a finding is known; it is then marked as seen.  B may be NULL. */
bool baseline_knows(struct baseline *b, enum finding_kind kind, uint64_t fingerprint);

/* FINDING is one that is known.  false: it is a leak, and with what was found there before it is
 * more than what is known, which is in *KNOWN. */
bool baseline_allows(struct baseline *b, const struct finding *finding, uint64_t *known);

/* The entries that were not seen, into F. */
void baseline_tell_gone(const struct baseline *b, struct findings *f);

/* Append the file: sorted by names, so that a new leak is one new line. */
void baseline_write(const struct baseline *b, struct str *out);

#endif
