/* SPDX-License-Identifier: MIT */
/*
 * rises.h -- the largest rises of a curve over time, and the places that caused them.
 *
 * A rise goes from a minimum to the maximum behind it.  Falls of less than a share of the highest
 * point do not end it, but a tenth of the time in which it goes on by less than half that share
 * does: what comes then is a rise of its own.  The page does the same (web/src/rises.js).
 */
#ifndef SEEP_REPORT_RISES_H
#define SEEP_REPORT_RISES_H

#include <stdint.h>

#include "base/str.h"
#include "names/symbol.h"
#include "query/select.h"

enum { RISES_MOST = 3, RISES_BEFORE = -1 };

struct rise {
        int64_t from, to; /* points; RISES_BEFORE: nothing, before the first */
        uint64_t more;
};

/* Points of the curve that count: values, their times, and the points FIRST to LAST of them. */
struct rises_curve {
        const uint64_t *values;
        const uint64_t *ms;
        uint32_t first, last;
};

/* The largest rises, largest first; returns how many. */
uint32_t rises_find(const struct rises_curve *c, struct rise rises[RISES_MOST]);

/* Append to OUT a line for each of the largest rises of the slices of SEL's profile: when, how
 * much, and the place among SEL's stacks that grew the most. */
void rises_write(const struct selection *sel, struct symbols *s, const struct rises_curve *c,
                 uint32_t columns, struct str *out);

#endif
