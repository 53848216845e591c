/* SPDX-License-Identifier: MIT */
/*
 * unseen.h -- memory that seep knows it did not see, reason by reason.
 *
 * Room:   outside.  The one list of such reasons: warnings of a recording, `leaks`, `check` and all
 *         that is written for programs ask here.
 * Keeps:  a profile for which unseen_any() is false was seen as a whole, as far as seep can know.
 */
#ifndef SEEP_PROFILE_UNSEEN_H
#define SEEP_PROFILE_UNSEEN_H

#include <stdbool.h>

#include "base/str.h"
#include "profile/model.h"

/* Each has a row in the table of unseen.c. */
enum unseen {
        UNSEEN_STOPPED,    /* recording ended before the program */
        UNSEEN_OWN_MALLOC, /* an allocator that is called past us */
        UNSEEN_LOST,       /* events without a place in the ledger */
        UNSEEN_FORKS,      /* children that were not followed */
        UNSEEN_UNTRACKED,  /* blocks at odd addresses */
        UNSEEN_MISSED,     /* releases past us: blocks were handed out again that were live here */
        UNSEEN_PAST,       /* allocations past us: blocks were released that we did not know */
        UNSEEN_SAMPLED,    /* a few blocks stand for all */
        UNSEEN_THINNED,    /* ... from a moment on, because the ledger had a limit */
        UNSEEN_CUT,        /* the file is not whole */
        UNSEEN_COUNT
};

/* Append the reason and what to do about it, one sentence without a full stop.  false: it does not hold. */
bool unseen_say(const struct profile *p, enum unseen reason, struct str *out);

bool unseen_any(const struct profile *p);

#endif
