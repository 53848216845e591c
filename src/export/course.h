/* SPDX-License-Identifier: MIT */
/*
 * course.h -- what stacks held over time, one moment after another.
 *
 * Keeps:  several sites may be one; their numbers are summed at each moment.
 */
#ifndef SEEP_EXPORT_COURSE_H
#define SEEP_EXPORT_COURSE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "export/export.h"
#include "export/stack_costs.h"
#include "profile/model.h"

#define COURSE_NONE UINT32_MAX

struct course {
        const struct profile *profile;
        uint32_t *number; /* by site: which sum it is part of; COURSE_NONE.  The caller's */
        struct profile_change *each; /* by site, as it is now */
        struct profile_change *sums; /* as they are now; .reserved is used inside */
        uint32_t *changed;           /* the sums that the last step changed */
        uint32_t count, changed_count;
};

/* COUNT sums; nothing has happened yet. */
void course_start(struct course *c, const struct profile *p, uint32_t *number, uint32_t count);
void course_free(struct course *c);

/* Go on to SLICE, the one after the last. */
void course_step(struct course *c, uint32_t slice);

/* By site of the profile: its sample in S.  To be freed. */
uint32_t *course_samples(const struct stack_costs *s);

/* ---- the part of a run that --at and --range choose, for formats of what happened over time ----
 *
 * Keeps:  the moments are those of query/select.h: a time means the last slice that is not later.
 */

struct course_span {
        uint32_t first, last;   /* slices that are before it; slices until its end */
        uint64_t from_ms, to_ms;
        bool whole;             /* all of the run */
        bool to_end;            /* its last numbers are those of the run, not of a slice */
        bool to_peak;           /* ... are those of the peak */
        bool has_peak;          /* the peak of the run is surely in it ... */
        uint32_t peak;          /* ... and so many slices are before it */
};

/* false: there is no slice that early. */
bool span_make(struct course_span *s, const struct export_input *in, struct err *e);

/* The slice with most live bytes, the one that the span begins with among them.
 * Only when LAST is not 0. */
uint32_t span_largest(const struct course_span *s, const struct profile *p);

/* The time of slice I; those behind the last one are the end. */
uint64_t span_ms(const struct course_span *s, const struct profile *p, uint32_t i);

#endif
