/* SPDX-License-Identifier: MIT */
/*
 * slices.h -- the history of a run: moments with live memory, in total and per call stack.
 *
 * Keeps:  at most SLICES_MAX moments and about SLICES_CHANGES_MAX changes, however long the
 *         run.  With too many moments every second one is dropped and the interval doubled;
 *         with too many changes every second one that tells of sites keeps its totals only.
 *         Moments with a mark come on top and stay: at most LEDGER_MARKS_MAX, with
 *         SLICES_MARKED_SHARE times as many changes; beyond that marks are lost, every second
 *         tag first, snapshots last, and are counted.
 * Cost:   of the totals: one read for each slot.  Of the sites: one read of the counters of each
 *         slot in which something happened, and a change for each site that did something.  Both
 *         are spaced so that they take at most 0.7 % of one processor each, with the writing of the
 *         changes at the end; so totals are cut hundreds of times however many sites there are, and
 *         in a short run as in a long one.
 */
#ifndef SEEP_COLLECT_SLICES_H
#define SEEP_COLLECT_SLICES_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/view.h"
#include "profile/model.h"

#define SLICES_MAX 500u
#define SLICES_CHANGES_MAX ((64u << 20) / sizeof(struct profile_change))
#define SLICES_MARKED_SHARE 4u
#define SLICES_INTERVAL_MS 4u  /* between totals, until there are too many */
#define SLICES_BEGINNING 64u   /* in the beginning of a run that part of the time since
                                * its start, or a millisecond */
#define SLICES_DETAIL_MS 20u   /* between looks at the sites */
#define SLICES_COST_SHARE 150u

struct slices {
        struct profile_slice *slice;
        struct profile_change *change; /* sites as the ledger numbers them; of one slice: by rising
                                        * site */
        bool *marked;                  /* by slice: a mark refers to it */
        uint32_t slice_count, slice_room, change_count, change_room;
        uint32_t marked_slices, marked_changes; /* of them: of slices with a mark */
        uint32_t slices_max, changes_max;       /* 0: the constants above */

        struct profile_mark *mark; /* in the order in which they were seen */
        uint32_t mark_count, mark_room;
        uint64_t marks_lost;

        struct slices_sites *sites; /* as they were when they were read last */
        uint32_t last_detail;       /* the last slice with sites */

        uint64_t interval_ms, next_ms, cost_ns; /* of totals */
        uint64_t detail_ms, detail_next_ms, detail_cost_ns;
};

/* ---- slices_sites.c: which sites did something since they were read last ---- */

/* What one slot had counted in all. */
struct slices_slot;

struct slices_sites {
        struct profile_change *sum; /* by site of the ledger: of all slots, below zero
                                     * between two halves of an event */
        uint64_t *changed;          /* a bit by site: since the last slice that tells of sites */
        uint32_t count;
        struct slices_slot *slot;
        uint32_t slot_count;
        uint32_t partial; /* reads since all slots were read */
};

/* Read the totals of all slots into OUT. */
void slices_read_totals(struct slices_sites *t, const struct view *v, struct profile_slice *out);

/* Read the counters of all slots whose totals say that something happened; with ALL of every slot:
 * mmap does not show in totals. */
void slices_read_sites(struct slices_sites *t, const struct view *v, bool all);
void slices_sites_free(struct slices_sites *t);

void slices_free(struct slices *s);

bool slices_due(const struct slices *s, uint64_t now_ms);

/* Between totals at NOW_MS, at least. */
uint64_t slices_step_ms(const struct slices *s, uint64_t now_ms);

/* Cut a slice at NOW_MS: of the totals, and when it is time for that of the sites.  V must be fresh
 * (view_refresh).  WHOLE: read all sites, whether it is time or not, and even when nothing seems to
 * have happened (mmap alone does not show in the totals). */
void slices_cut(struct slices *s, const struct view *v, uint64_t now_ms, uint64_t rss_bytes,
                bool whole);

/* The same with WHOLE, for MARKS that came since the last look: their slice is the one cut now.
 * Type, seq, thread, flags, era, ms and label are the caller's to fill; the labels are moved. */
void slices_mark(struct slices *s, const struct view *v, uint64_t now_ms, uint64_t rss_bytes,
                 struct profile_mark *marks, uint32_t count);

/* MS, unless the course goes on after it: each mark has a time of its own, which
 * may be ahead of the clock. */
uint64_t slices_end_ms(const struct slices *s, uint64_t ms);

/* Move the slices and marks into P; S has none afterwards.  SITE_MAP gives the site of P for each
 * of the SITE_COUNT sites of the ledger, 0 for none; several may share one. */
void slices_store(struct slices *s, const uint32_t *site_map, uint32_t site_count,
                  struct profile *p);

#endif
