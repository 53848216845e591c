/* SPDX-License-Identifier: MIT */
/*
 * course.h -- what stacks held over time, moment after moment.
 *
 * Room:   outside.
 * Keeps:  several sites may be one; their numbers are summed at each moment.
 */
#ifndef SEEP_EXPORT_COURSE_H
#define SEEP_EXPORT_COURSE_H

#include <stdint.h>

#include "export/stacks.h"
#include "profile/model.h"

#define COURSE_NONE UINT32_MAX

struct course {
        const struct profile *profile;
        uint32_t *number;            /* by site: which sum it is part of; COURSE_NONE.  The caller's */
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
uint32_t *course_samples(const struct stacks *s);

#endif
