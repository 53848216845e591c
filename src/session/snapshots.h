/* SPDX-License-Identifier: MIT */
/*
 * snapshots.h -- the marks of one recording: which are new, which still need a report, which are
 * finished.
 *
 * Keeps:  marks of the ledger are served in order; a snapshot's report tells the change since the
 *         last one that had a report, so that all reports sum up to the whole.
 */
#ifndef SEEP_SESSION_SNAPSHOTS_H
#define SEEP_SESSION_SNAPSHOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/slices.h"
#include "collect/view.h"
#include "session/reports.h"

#define SNAPSHOTS_NOBODY (-1)

/* A report that is not written yet. */
struct snapshots_due {
        struct reports_order order;
        uint32_t type; /* enum ledger_mark_type */
        uint32_t era;  /* mark of the ledger + 1; 0: made outside */
        int asker;     /* connection of `seep snapshot`, to be answered; or SNAPSHOTS_NOBODY */
        uint64_t live_bytes, live_blocks;
};

struct snapshots {
        uint32_t seen;         /* marks of the ledger that were looked at */
        uint32_t seq;          /* of the last snapshot */
        uint32_t reported_seq; /* of the last one with a report */
        bool exit_seen;        /* the program waited, or waits, for its last report */
        uint64_t unready_ms;   /* since when the first mark not seen is not ready; 0: it is */
        struct snapshots_due *due; /* oldest first */
        uint32_t due_count;
};

/* Where a recording stands now.  VIEW is fresh. */
struct snapshots_moment {
        struct slices *slices;
        const struct view *view;
        uint64_t ms, rss_bytes;
        bool ended; /* the process is gone: what is not ready now never will be */
};

void snapshots_free(struct snapshots *s);

/* New marks of the ledger get a slice and, if they are snapshots, a number. */
void snapshots_look(struct snapshots *s, const struct snapshots_moment *now);

/* A snapshot, or tag, that the program does not know of.  REPORT: with a report, which ASKER waits
 * for. */
void snapshots_take(struct snapshots *s, const struct snapshots_moment *now,
                    enum ledger_mark_type type, const char *label, bool report, int asker);

/* The oldest COUNT reports are written, or given up. */
void snapshots_forget(struct snapshots *s, uint32_t count);

/* How many marks of the ledger are done with. */
uint32_t snapshots_served(const struct snapshots *s);

#endif
