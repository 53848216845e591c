/* SPDX-License-Identifier: MIT */
/*
 * filter.h -- which stacks a report shows: regular expressions over function and module names.
 *
 * Keeps:  from the innermost frame outwards, the first frame whose name matches decides; where both
 *         match one frame, exclude wins ("-i parse -x small" shows parse_big, not parse_small).  A
 *         stack nothing matches is shown, unless there is an include.  Modules the same, except
 *         that the C library's start code outside of main counts for none: it is in every stack.
 */
#ifndef SEEP_QUERY_FILTER_H
#define SEEP_QUERY_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "names/symbol.h"
#include "profile/model.h"
#include "query/expression.h"

enum filter_kind {
        FILTER_INCLUDE,
        FILTER_EXCLUDE,
        FILTER_MODULE,
        FILTER_NOT_MODULE,
        FILTER_THREAD,
        FILTER_KINDS
};

struct filter_memo; /* what is known of names already seen */

struct filter {
        struct expressions of[FILTER_KINDS];
        struct filter_memo *memo;
};

static inline bool filter_has(const struct filter *f, enum filter_kind kind)
{
        return f && f->of[kind].count > 0;
}

/* Add a POSIX extended expression.  false: it is not one (exit code 2). */
bool filter_add(struct filter *f, enum filter_kind kind, const char *expression, struct err *e);
void filter_free(struct filter *f);

/* The next calls are for another profile, with the same resolver. */
void filter_forget(struct filter *f);

/* Whether the name of a function matches, with its parameters or without: '^f$' finds f(int). */
bool filter_matches(const struct expressions *x, const char *name);

/* Whether the stack of NODE is shown.  P and S must be the same in all calls for one filter. */
bool filter_stack(struct filter *f, const struct profile *p, struct symbols *s, uint32_t node);

/* Whether a thread is shown: by its name, or by its number written out.  true
 * without a FILTER_THREAD. */
bool filter_thread(const struct filter *f, const struct profile_thread *thread);

#endif
