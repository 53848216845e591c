/* SPDX-License-Identifier: MIT */
/*
 * growth.h -- which stacks keep growing, judged by the time slices of a recording.
 *
 * Room:   outside.  `seep help growth` tells users the same.
 *
 * The first quarter of the run is warm-up and not looked at.  The rest is cut into eight windows of
 * equal time; of each the least that was live counts, because what falls back to its old level,
 * however high it went, does not grow.
 *
 *   grows     the least of a window is higher than that of the window before at least three times,
 *             once of them in the last two windows; what it lost in between is at most a quarter of
 *             what it gained, and a gain with losses is at least a sixteenth of the most that was
 *             ever live.  The rate is the gain over the time between the moments at which the
 *             levels of the first and the last window were seen.
 *   once      not so, and all its allocations were within an eighth of the run
 *   bounded   neither: it goes on allocating, and gives back
 *   unknown   fewer than 16 slices, or fewer than 8 after the warm-up: the run was too short to
 *             tell
 *
 * Programs tidy up when they end: the last slices in which the whole heap does not rise
 * are not looked at, if they are within an eighth of the run.  What grew until then and
 * is freed now still grew.
 */
#ifndef SEEP_QUERY_GROWTH_H
#define SEEP_QUERY_GROWTH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "profile/model.h"

enum growth_class { GROWTH_UNKNOWN, GROWTH_ONCE, GROWTH_BOUNDED, GROWTH_GROWS, GROWTH_CLASSES };

struct growth {
        enum growth_class class;
        double bytes_per_s;  /* of what grows, else 0 */
        uint64_t until_ms;   /* of what grows: until when that was looked at ... */
        uint64_t live_bytes; /* ... and what was live then */
};

/* One entry per site, to be freed.  LEADERS gives for each site the one whose entry it is summed
 * into; NULL: each its own.  Entries of sites that are not leaders say nothing. */
struct growth *growth_judge(const struct profile *p, const uint32_t *leaders);

/* The same for a part of the run, as if it were all. */
struct growth_span {
        uint64_t from_ms, to_ms;
};
struct growth *growth_judge_span(const struct profile *p, const uint32_t *leaders,
                                 struct growth_span span);

/* Whether what SITE held and GREW was freed when the program ended: at most a quarter of it is
 * left. */
bool growth_was_freed(const struct profile *p, uint32_t site, const struct growth *grew);

/* "grows", "bounded", "once" or "". */
const char *growth_word(enum growth_class class);

/* Append "1.2 KiB/s", in the unit of time in which it is at least some bytes. */
void growth_rate(double bytes_per_s, struct str *out);

/* Append "grows 1.2 KiB/s", "bounded", "once"; nothing when it is not known. */
void growth_write(const struct growth *g, struct str *out);

#endif
