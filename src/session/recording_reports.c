/* SPDX-License-Identifier: MIT */
/* recording_reports.c -- the marks of one recording: snapshots, the reports about them, and those
 * that wait for them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/io.h"
#include "session/control.h"
#include "session/listener.h"
#include "session/recording_parts.h"

#define RECORDING_PATIENCE_MS 30000u /* a program that waits for its report waits no longer */

static struct snapshots_moment moment(struct recording *r, uint64_t now_ms)
{
        return (struct snapshots_moment){ &r->slices, &r->view, now_ms, r->rss.last_bytes, false };
}

/* A report that takes too long must not hold up the program. */
static void tell_served(struct recording *r, uint64_t now_ms)
{
        bool late = r->snapshots.due_count && now_ms > r->reports_since_ms + RECORDING_PATIENCE_MS;
        uint32_t served = late ? r->snapshots.seen : snapshots_served(&r->snapshots);

        if (served <= r->served)
                return;
        r->served = served;
        view_served(&r->view, served);
}

static void write_report(struct recording *r, const struct profile *p,
                         const struct snapshots_due *due, struct reports_result *out)
{
        const char *beside = output_beside(r->plan->output, r->path);
        struct reports_place place = { output_directory(r->plan->output, beside),
                                       output_folder(r->plan->output, beside), r->program,
                                       r->pid };

        reports_write(&r->plan->author, &place, p, &due->order, out);
        free(place.directory);
}

struct writing {
        struct recording *r;
        uint64_t now_ms;
};

static bool write_reports(void *context, int results)
{
        const struct writing *k = context;
        struct recording *r = k->r;
        struct reports_result result;
        struct profile p;
        bool good = true;

        recording_fill(r, NULL, FOR_REPORTS, k->now_ms, &p);
        for (uint32_t i = 0; i < r->snapshots.due_count && good; i++) {
                write_report(r, &p, &r->snapshots.due[i], &result);
                good = io_write(results, &result, sizeof result);
        }
        return good;
}

/* The oldest COUNT reports are done with: tell what became of them.  Without an answer from the
 * reporter: WHY. */
static void tell_reports(struct recording *r, uint32_t count, const char *why)
{
        struct reports_result result;

        for (uint32_t i = 0; i < count; i++) {
                const struct snapshots_due *due = &r->snapshots.due[i];

                if (!worker_read(&r->reporter, i * sizeof result, &result, sizeof result)) {
                        result = (struct reports_result){ .seq = due->order.seq };
                        snprintf(result.why, sizeof result.why, "%s", why);
                }
                r->plan->told(r->plan->context, r, due, &result);
        }
        snapshots_forget(&r->snapshots, count);
        worker_close(&r->reporter);
        r->reports_begun = 0;
}

/* No process or no descriptors: they may be there at the next tick. */
static void give_up_reports(struct recording *r, uint64_t now_ms)
{
        char why[128];

        snprintf(why, sizeof why, "cannot start a process for it: %s", strerror(errno));
        if (now_ms > r->reports_since_ms + RECORDING_PATIENCE_MS)
                tell_reports(r, r->snapshots.due_count, why);
}

static void start_reports(struct recording *r, uint64_t now_ms)
{
        struct worker_order order = { .work = write_reports,
                                      .context = &(struct writing){ r, now_ms },
                                      .file = "seep-reports",
                                      .program = (pid_t)r->pid };

        if (r->reporter.pid || !r->snapshots.due_count)
                return;
        if (!r->reports_since_ms)
                r->reports_since_ms = now_ms;
        if (worker_start(&r->reporter, &order))
                r->reports_begun = r->snapshots.due_count;
        else
                give_up_reports(r, now_ms);
}

static void take_results(struct recording *r, int status)
{
        char why[128];

        if (WIFSIGNALED(status))
                snprintf(why, sizeof why, "the process that wrote it was killed by signal %d",
                         WTERMSIG(status));
        else
                snprintf(why, sizeof why, "the process that wrote it ended early, with status %d",
                         WEXITSTATUS(status));
        tell_reports(r, r->reports_begun, why);
}

void recording_reports_done(struct recording *r, int status)
{
        uint64_t now_ms = recording_elapsed_ms(r, clock_now_ns());

        worker_reaped(&r->reporter);
        take_results(r, status);
        r->reports_since_ms = 0;
        start_reports(r, now_ms);
        tell_served(r, now_ms);
}

void recording_await_reports(struct recording *r)
{
        if (r->reporter.pid)
                take_results(r, worker_wait(&r->reporter));
}

static bool has_new_marks(const struct recording *r)
{
        const struct ledger_head *shared = view_shared(&r->view);

        return !shared || view_load(&r->view, &shared->mark_count) != r->snapshots.seen;
}

void recording_serve_marks(struct recording *r, uint64_t now_ms)
{
        struct snapshots_moment now;
        struct err e;

        if (has_new_marks(r) && view_refresh(&r->view, &e) &&
            r->view.head.mark_count != r->snapshots.seen) {
                rss_read(&r->rss, &r->view);
                now = moment(r, now_ms);
                snapshots_look(&r->snapshots, &now);
        }
        start_reports(r, now_ms);
        tell_served(r, now_ms);
}

/* Nothing is to be written: the answer is that there is such a mark now. */
static void answer_tag(const struct recording *r, int asker)
{
        struct wire_reply reply = { .magic = WIRE_REQUEST_MAGIC };
        struct wire_status s = { 0 };

        control_status(&r->view, &s);
        reply.live_bytes = s.live_bytes;
        reply.live_blocks = s.live_blocks;
        listener_reply(asker, &reply);
}

void recording_ask(struct recording *r, const struct wire_request *ask, int asker, uint64_t now_ns)
{
        uint64_t now_ms = recording_elapsed_ms(r, now_ns);
        struct snapshots_moment now;
        struct err e;

        recording_serve_marks(r, now_ms);
        view_refresh(&r->view, &e); /* an earlier copy of the head will do */
        rss_read(&r->rss, &r->view);
        now = moment(r, now_ms);
        if (ask->flags & WIRE_SNAPSHOT_TAG) {
                snapshots_take(&r->snapshots, &now, LEDGER_MARK_TAG, ask->label, false,
                               SNAPSHOTS_NOBODY);
                answer_tag(r, asker);
                return;
        }
        snapshots_take(&r->snapshots, &now, LEDGER_MARK_OUTSIDE, ask->label, true, asker);
        start_reports(r, now_ms);
}

/* ---- snapshots that nobody in the program asks for ---- */

/* Those that a clock or a threshold asks for. */
void recording_take_snapshots(struct recording *r, uint64_t now_ms)
{
        const struct recording_plan *plan = r->plan;
        bool timer = plan->snapshot_every_ms && now_ms >= r->snapshot_due_ms, rss = false;
        struct snapshots_moment now;
        struct err e;

        if (plan->snapshot_rss_bytes && !r->snapshot_rss_done) {
                rss_read(&r->rss, &r->view);
                rss = r->snapshot_rss_done = r->rss.last_bytes >= plan->snapshot_rss_bytes;
        }
        if ((!timer && !rss) || !view_refresh(&r->view, &e))
                return;
        rss_read(&r->rss, &r->view);
        now = moment(r, now_ms);
        if (rss)
                snapshots_take(&r->snapshots, &now, LEDGER_MARK_OUTSIDE, "rss", false,
                               SNAPSHOTS_NOBODY);
        if (!timer)
                return;
        snapshots_take(&r->snapshots, &now, LEDGER_MARK_OUTSIDE, "timer", false, SNAPSHOTS_NOBODY);
        r->snapshot_due_ms = (now_ms / plan->snapshot_every_ms + 1) * plan->snapshot_every_ms;
}

/* Marks that came since the last look, the last report, the last slice. */
void recording_cut_last(struct recording *r, const struct recording_end *end, uint64_t now_ms)
{
        bool ended = end->end != PROFILE_END_UNKNOWN;
        struct snapshots_moment now = moment(r, now_ms);

        now.ended = ended;
        snapshots_look(&r->snapshots, &now);
        if (r->plan->carrier->last_report && !r->snapshots.exit_seen)
                snapshots_take(&r->snapshots, &now, ended ? LEDGER_MARK_EXIT : LEDGER_MARK_OUTSIDE,
                               "", true, SNAPSHOTS_NOBODY);
        else
                slices_cut(&r->slices, &r->view, now_ms, r->rss.last_bytes, true);
}

/* The reports that nobody began to write. */
void recording_write_last(struct recording *r, const struct profile *p, uint64_t now_ms)
{
        struct reports_result result;

        for (uint32_t i = 0; i < r->snapshots.due_count; i++) {
                write_report(r, p, &r->snapshots.due[i], &result);
                r->plan->told(r->plan->context, r, &r->snapshots.due[i], &result);
        }
        snapshots_forget(&r->snapshots, r->snapshots.due_count);
        tell_served(r, now_ms);
}
