/* SPDX-License-Identifier: MIT */
/* settle.h -- checks that make a profile safe to use after it was read. */
#ifndef SEEP_PROFILE_SETTLE_H
#define SEEP_PROFILE_SETTLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "profile/format.h"

/* Make every index point to something that is there: what refers to a lost record refers to
 * entry 0 ("unknown", "root") or 1 (stacks that lost their outer end).  Orders are restored,
 * strings are never NULL (but in symbols).  WHOLE: all records that were promised are there, so
 * no reference can be lost. */
void settle_profile(struct profile *p, bool whole);

/* Append "12 of 50 nodes, all 7 slices" to OUT: what DECLARED promised and P (before
 * settling) does not have. */
void settle_missing(const struct profile *p, const uint64_t *declared, struct str *out);

/* The part of it that is about leaks; before blocks are put in order. */
void settle_leaks(struct profile *p, bool whole);

/* The part of it that is about the order of records. */
void settle_orders(struct profile *p);

#endif
