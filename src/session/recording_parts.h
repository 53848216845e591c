/* SPDX-License-Identifier: MIT */
/*
 * recording_parts.h -- what the files of recording.h share: the course of a recording, its profile,
 * its reports.
 */
#ifndef SEEP_SESSION_RECORDING_PARTS_H
#define SEEP_SESSION_RECORDING_PARTS_H

#include "session/recording.h"

/* Since the start of the process. */
uint64_t recording_elapsed_ms(const struct recording *r, uint64_t now_ns);

/* ---- recording_profile.c ---- */

/* What a profile is for. */
enum purpose {
        FOR_REPORTS,
        FOR_CHECKPOINT,
        FOR_LIGHT,
        FOR_SEARCH,
        FOR_LOOK,
        FOR_EVENTS,
        FOR_BLOCKS,
        FOR_ADOPTION, /* the end; blocks come from the last search (scanner_adopt) */
        FOR_GOOD
};

/* Fill P with what is known at NOW_MS.  END: how the process ended, NULL it has not. */
void recording_fill(struct recording *r, const struct recording_end *end, enum purpose purpose,
                    uint64_t now_ms, struct profile *p);

/* Ask the kernel: which mappings are resident, how the threads are called. */
void recording_look_at_mappings(struct recording *r, uint64_t now_ms);
void recording_read_names(struct recording *r);

/* Write what there is so far, when it is time. */
void recording_checkpoint(struct recording *r, uint64_t now_ms);

/* ---- recording_control.c ---- */

/* The worker of r->control ended, with STATUS of waitpid(). */
void recording_control_done(struct recording *r, int status);

/* Counters are being set back: nobody should read them now. */
bool recording_is_reset(const struct recording *r);

/* ---- recording_reports.c ---- */

/* See to new marks, to reports that are due, and to those that wait for them; to what a clock or a
 * threshold asks for. */
void recording_serve_marks(struct recording *r, uint64_t now_ms);
void recording_take_snapshots(struct recording *r, uint64_t now_ms);

/* The process that writes reports ended, or is waited for. */
void recording_reports_done(struct recording *r, int status);
void recording_await_reports(struct recording *r);

/* At the end: marks that came since the last look, the last slice; then the reports that nobody
 * began to write. */
void recording_cut_last(struct recording *r, const struct recording_end *end, uint64_t now_ms);
void recording_write_last(struct recording *r, const struct profile *p, uint64_t now_ms);

#endif
