/* SPDX-License-Identifier: MIT */
/*
 * unseen.h -- memory that seep knows it did not see, and tables that were full: one sentence for
 * each reason.
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
        UNSEEN_SHUT_OUT,   /* programs and children in a sandbox that keeps us out */
        UNSEEN_UNTRACKED,  /* blocks at odd addresses */
        UNSEEN_MISSED,     /* releases past us: blocks were handed out again that were live here */
        UNSEEN_GONE,       /* releases past us: blocks that the allocator had no more at a search */
        UNSEEN_HEAP,       /* allocations past us: blocks that the allocator had at a search */
        UNSEEN_ONE_WAY,    /* what releases the blocks of a custom allocator could not be hooked */
        UNSEEN_PAST,       /* allocations past us: blocks were released that we did not know */
        UNSEEN_NAMESPACES, /* libraries with a C library of their own */
        UNSEEN_SAMPLED,    /* a few blocks stand for all */
        UNSEEN_THINNED,    /* ... from a moment on, because the ledger had a limit */
        UNSEEN_CUT,        /* the file is not whole */
        UNSEEN_COUNT
};

/* Append the reason and what to do about it, one sentence without a full stop.
 * false: it does not hold. */
bool unseen_say(const struct profile *p, enum unseen reason, struct str *out);

bool unseen_any(const struct profile *p);

/* Tables of the ledger with a bound that does not stop the recording: number, word, how much did
 * not fit, sentence.  What did not fit was counted all the same unless a reason above says so: most
 * often it lacks a name only. */
#define UNSEEN_TABLES(X)                                                       \
        X(MODULES, "modules", p->totals.modules_not_kept, say_modules)         \
        X(THREADS, "threads", p->totals.threads_not_kept, say_threads)         \
        X(REGIONS, "mappings", p->totals.regions_not_kept, say_regions)        \
        X(HANDLES, "resources", p->totals.handles_not_kept, say_handles)       \
        X(TYPES, "types", p->type_count >= LEDGER_TYPES_MAX, say_types)        \
        X(ERRORS, "invalid frees", p->totals.errors_not_kept, say_errors)      \
        X(ROOTS, "roots", p->totals.roots_not_kept, say_roots)                 \
        X(MARKS, "marks", p->totals.marks_not_kept, say_marks)                 \
        X(DEATHS, "frees between marks", p->totals.deaths_not_kept, say_deaths) \
        X(STRINGS, "names", p->totals.strings_not_kept, say_strings)

enum unseen_table {
#define UNSEEN_TABLE_ENUM(id, word, count, say) UNSEEN_FULL_##id,
        UNSEEN_TABLES(UNSEEN_TABLE_ENUM)
#undef UNSEEN_TABLE_ENUM
        UNSEEN_TABLE_COUNT
};

/* Append that the table was full and what that means, one sentence without a full
 * stop.  false: it was not. */
bool unseen_say_full(const struct profile *p, enum unseen_table table, struct str *out);

/* Append all that were, as a list in JSON: table, not_kept, text. */
void unseen_full_json(const struct profile *p, struct str *out);

#endif
