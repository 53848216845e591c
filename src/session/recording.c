/* SPDX-License-Identifier: MIT */
#include "session/recording_parts.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "attach/procfs.h"
#include "base/clock.h"
#include "base/heap.h"
#include "collect/collect.h"
#include "collect/reclaim.h"
#include "collect/warnings.h"
#include "profile/own.h"
#include "session/family.h"
#include "session/listener.h"
#include "session/standstill.h"
#include "wire/hello.h"

#define RECORDING_NAMES_EVERY_MS 1000u
#define RECORDING_LOOK_MS 100u          /* from the beginning to the first look at the mappings */
#define RECORDING_RSS_DOUBT (1u << 20)  /* bytes of heap beyond what was seen to be resident */

/* ---- begin and end ---- */

/* The program writes to the ledger; true also when that cannot be seen. */
static bool has_ledger(const struct recording *r)
{
        struct stat ledger;

        return fstat(r->view.fd, &ledger) != 0 || process_maps(r->pid, ledger.st_ino);
}

/* The stack first: when the ledger is still there after that, both belong to one program. */
static void note_program(struct recording *r)
{
        r->stack_start = process_stack(r->pid);
        r->replaced = !has_ledger(r);
}

static bool has_new_stack(const struct recording *r)
{
        uint64_t now = r->stack_start ? process_stack(r->pid) : 0;

        return now && now != r->stack_start;
}

struct recording *recording_new(const struct view *v, uint32_t pid, int pidfd, char *program,
                                char *path, const struct recording_plan *plan)
{
        struct recording *r = heap_zero(1, sizeof *r);
        char *exe;

        r->plan = plan;
        r->view = *v;
        r->pid = pid;
        r->pidfd = pidfd;
        r->program = program;
        r->path = path;
        r->reporter = WORKER_NONE;
        scanner_init(&r->scanner);
        looks_init(&r->looks);
        control_init(&r->control);
        r->depth = plan->depth;
        r->snapshot_due_ms = plan->snapshot_every_ms;
        /* The search at the end looks at the mappings anyway; a short program is spared this. */
        if (v->head.flags & WIRE_F_LEAK_SCAN)
                r->resident.due_ms = recording_elapsed_ms(r, clock_now_ns()) + RECORDING_LOOK_MS;
        r->snapshots.seen = v->head.served; /* marks of the process that it was forked from */
        r->cwd = process_link(pid, "cwd");
        rss_open(&r->rss, pid);
        jit_init(&r->jit, pid);
        process_exe(pid, &r->exe_dev, &r->exe_ino);
        if (plan->carrier->one_program)
                note_program(r);
        exe = process_link(pid, "exe");
        r->exe_doubtful = *exe && strcmp(exe, r->view.head.exe) != 0;
        free(exe);
        checkpoint_init(&r->checkpoint, *path);
        view_observer(&r->view, (uint32_t)getpid());
        if (r->view.head.flags & WIRE_F_EVENTS && *path)
                r->journal = events_writer_open(&r->view, pid,
                                                (struct events_writer_place){
                                                        path, output_folder(plan->output, path) },
                                                plan->log);
        return r;
}

void recording_free(struct recording *r, bool written)
{
        scanner_free(&r->scanner);
        looks_free(&r->looks);
        control_free(&r->control);
        resident_free(&r->resident);
        events_writer_close(r->journal, !written);
        events_ids_free(&r->ids);
        view_close(&r->view);
        slices_free(&r->slices);
        snapshots_free(&r->snapshots);
        worker_close(&r->reporter);
        if (r->pidfd >= 0)
                close(r->pidfd);
        rss_close(&r->rss);
        jit_close(&r->jit);
        free(r->program);
        free(r->cwd);
        free(r->path);
        free(r->names);
        free(r);
}

bool recording_has_execed(const struct recording *r)
{
        uint64_t dev, ino;

        if (!process_exe(r->pid, &dev, &ino))
                return false;
        if (r->exe_ino && (dev != r->exe_dev || ino != r->exe_ino))
                return true;
        if (r->plan->carrier->one_program)
                return r->replaced || has_new_stack(r);
        /* A process on its way out has lost its maps too: look twice. */
        return r->exe_doubtful && !family_has_agent((pid_t)r->pid) && !has_ledger(r) &&
               process_exe(r->pid, &dev, &ino);
}

bool recording_is_gone(const struct recording *r)
{
        struct pollfd p = { .fd = r->pidfd, .events = POLLIN };

        return r->pidfd >= 0 ? poll(&p, 1, 0) == 1 : kill((pid_t)r->pid, 0) < 0 && errno == ESRCH;
}

uint64_t recording_elapsed_ms(const struct recording *r, uint64_t now_ns)
{
        uint64_t start_ns = r->view.head.start_monotonic_ns;

        return now_ns > start_ns ? (now_ns - start_ns) / 1000000u : 0;
}

/* ---- searches for leaks ---- */

/* In the scanning process.  Where the heap is now belongs to where its blocks are.  (At the end it
 * was looked at, and may be gone already.) */
static void collect_for_scan(void *context, struct profile *p)
{
        struct recording *r = context;
        uint64_t now_ms = recording_elapsed_ms(r, clock_now_ns());

        if (!PROFILE_SCAN_IS_LAST(r->scanner.when))
                recording_look_at_mappings(r, now_ms);
        recording_fill(r, NULL, FOR_SEARCH, now_ms, p);
}

static void look_before_end(void *context)
{
        struct recording *r = context;
        struct err e = { 0 };

        view_refresh(&r->view, &e); /* an earlier copy of the head will do */
        recording_look_at_mappings(r, recording_elapsed_ms(r, clock_now_ns()));
}

static struct scanner_order scan_order(struct recording *r)
{
        return (struct scanner_order){
                .pid = (pid_t)r->pid,
                .view = &r->view,
                .flags = r->plan->scan_flags,
                .unlisted = "",
                .first_tracer = r->plan->first_tracer,
                .hold = r->plan->carrier->last_report ||
                        (r->plan->departed && r->plan->departed >= (uint32_t)get_nprocs()),
                .context = r,
                .collect = collect_for_scan,
                .before_end = look_before_end,
        };
}

static void serve_scans(struct recording *r)
{
        struct scanner_order order = scan_order(r);
        uint64_t now_ms = recording_elapsed_ms(r, clock_now_ns());
        bool idle = !r->scanner.worker.pid;

        if (r->departed)
                return;
        view_tick(&r->view, now_ms, !idle); /* which the search has its moment from */
        scanner_start(&r->scanner, &order);
        if (!idle || !scanner_is_last(&r->scanner))
                return;
        scanner_over(&r->scanner, now_ms);
        scanner_tell_nothing(&r->scanner, &order);
}

void recording_ask_scan(struct recording *r, const struct wire_request *ask, int asker)
{
        if (r->view.head.sample_bytes || r->view.head.thin_count) {
                listener_refuse(asker,
                                "%s, and pointers in and to unrecorded blocks would be missed",
                                r->view.head.thin_count ? "its ledger came near --limit-ledger"
                                                        : "it is recorded with --sample");
                return;
        }
        scanner_ask(&r->scanner, &(struct scanner_asker){ asker, ask->flags, ask->number });
        serve_scans(r);
}

/* ---- looks ---- */

/* In the process that makes it: the slice up to now is for its own copy. */
static void collect_for_look(void *context, uint32_t flags, struct profile *p)
{
        struct recording *r = context;
        uint64_t now_ms = recording_elapsed_ms(r, clock_now_ns());
        struct err e;

        view_refresh(&r->view, &e); /* an earlier copy of the head will do */
        rss_read_peak(&r->rss, &r->view, now_ms);
        if (!*r->path)
                recording_look_at_mappings(r, now_ms);
        slices_cut(&r->slices, &r->view, now_ms, r->rss.last_bytes, true);
        recording_fill(r, NULL,
                       flags & WIRE_LOOK_EVENTS   ? FOR_EVENTS
                       : flags & WIRE_LOOK_BLOCKS ? FOR_BLOCKS
                                                  : FOR_LOOK,
                       now_ms, p);
        if (flags & WIRE_LOOK_EVENTS)
                events_writer_point(r->journal, &r->ids, p);
}

static void serve_looks(struct recording *r)
{
        looks_start(&r->looks, &(struct looks_order){ (pid_t)r->pid, r, collect_for_look });
}

void recording_ask_look(struct recording *r, uint32_t flags, int asker)
{
        looks_ask(&r->looks, asker, flags);
        serve_looks(r);
}

static void look_done(struct recording *r, int status)
{
        looks_done(&r->looks, status, r->path);
        serve_looks(r);
}

/* ---- children of ours ---- */

static void scan_done(struct recording *r, int status)
{
        struct scanner_words words;

        if (scanner_done(&r->scanner, &r->view, status, &words))
                r->plan->scanned(r->plan->context, r, &words);
        serve_scans(r);
}

bool recording_child_ended(struct recording *r, pid_t pid, int status, uint64_t cpu_ns)
{
        if (r->scanner.worker.pid == pid)
                scan_done(r, status);
        else if (r->looks.worker.pid == pid)
                look_done(r, status);
        else if (r->control.worker.pid == pid)
                recording_control_done(r, status);
        else if (r->reporter.pid == pid)
                recording_reports_done(r, status);
        else if (r->reclaim.worker.pid == pid) {
                reclaim_done(&r->reclaim, &r->view, recording_elapsed_ms(r, clock_now_ns()));
                ahead_forget(&r->ahead);
        } else if (r->checkpoint.writer.pid == pid)
                checkpoint_done(&r->checkpoint, status, cpu_ns);
        else
                return false;
        return true;
}

void recording_knock(struct recording *r, uint64_t now_ns)
{
        if (recording_is_reset(r))
                return; /* the next tick will do */
        recording_serve_marks(r, recording_elapsed_ms(r, now_ns));
        serve_scans(r);
}

/* ---- the course ---- */

uint64_t recording_step_ms(const struct recording *r)
{
        return slices_step_ms(&r->slices, r->slices.next_ms);
}

void recording_cut(struct recording *r, uint64_t now_ns)
{
        uint64_t now_ms = recording_elapsed_ms(r, now_ns);
        struct err e;

        if (scanner_is_over(&r->scanner) || recording_is_reset(r))
                return;
        ahead_tick(&r->ahead, &r->view, r->pid);
        if (!slices_due(&r->slices, now_ms))
                return;
        /* What it does after the slice is not older than that. */
        view_tick(&r->view, now_ms, r->reporter.pid != 0);
        if (!view_refresh(&r->view, &e))
                return;
        rss_read(&r->rss, &r->view);
        slices_cut(&r->slices, &r->view, now_ms, r->rss.last_bytes, false);
}

void recording_tick(struct recording *r, uint64_t now_ns)
{
        uint64_t now_ms = recording_elapsed_ms(r, now_ns);
        struct err e;

        view_tick(&r->view, now_ms, r->reporter.pid != 0);
        if (recording_is_reset(r))
                return;
        recording_serve_marks(r, now_ms);
        serve_scans(r);
        if (scanner_is_over(&r->scanner))
                return;
        ahead_tick(&r->ahead, &r->view, r->pid);
        recording_take_snapshots(r, now_ms);
        recording_checkpoint(r, now_ms);
        reclaim_tick(&r->reclaim, &r->view, now_ms, ahead_shadow_end(&r->ahead));
        share_tick(&r->view, !r->reclaim.worker.pid);
        if (!slices_due(&r->slices, now_ms))
                return;
        if (!view_refresh(&r->view, &e))
                return;
        rss_follow(&r->rss, &r->view, now_ms);
        slices_cut(&r->slices, &r->view, now_ms, r->rss.last_bytes, false);
        if (now_ms >= r->names_due_ms || r->view.head.thread_count != r->named_threads) {
                recording_read_names(r);
                jit_look(&r->jit);
                r->named_threads = r->view.head.thread_count;
                r->names_due_ms = now_ms + RECORDING_NAMES_EVERY_MS;
        }
        /* Reports alone do without; whoever asks for more has his own look. */
        if (*r->path && now_ms >= r->resident.due_ms)
                recording_look_at_mappings(r, now_ms);
}

/* ---- the end ---- */

static void wait_for_workers(struct recording *r)
{
        worker_wait(&r->checkpoint.writer);
        worker_wait(&r->reclaim.worker);
        if (r->control.worker.pid)
                recording_control_done(r, worker_wait(&r->control.worker));
        if (r->looks.worker.pid)
                looks_done(&r->looks, worker_wait(&r->looks.worker), r->path);
        recording_await_reports(r);
}

/* What became resident between the last look and the end is not known, unless the kernel told or it
 * was little.  A heap that grew far beyond the number in that time shows that this matters. */
static void settle_rss(const struct recording *r, const struct recording_end *end,
                       struct profile_totals *t)
{
        if (!end->rss_peak_bytes && !end->rss_seen && t->peak_ms >= r->rss.ms &&
            t->peak_bytes > t->rss_peak_bytes + RECORDING_RSS_DOUBT)
                t->rss_peak_bytes = 0;
}

static void find_leaks(struct recording *r, const struct recording_end *end, struct profile *p)
{
        struct scanner_order order = scan_order(r);

        if (!*r->path)
                return;
        scanner_keep(&r->scanner, p);
        order.unlisted = r->unlisted;
        if (end->end == PROFILE_END_UNKNOWN)
                scanner_last(&r->scanner, &order, p);
        else
                scanner_finish(&r->scanner, &order, p);
}

/* Mostly nothing happened between the last search and the end: blocks need not be read again then,
 * and those that were found are known by their place in the list. */
static void fill_last(struct recording *r, const struct recording_end *end, uint64_t now_ms,
                      struct profile *p)
{
        struct scanner_order order = scan_order(r);

        if (!*r->path && r->plan->unread && !r->snapshots.due_count) {
                *p = (struct profile){ 0 };
                return;
        }
        if (*r->path && !r->journal && scanner_has_blocks(&r->scanner, &order, end->end)) {
                recording_fill(r, end, FOR_ADOPTION, now_ms, p);
                if (scanner_adopt(&r->scanner, p))
                        return;
                profile_free(p);
        }
        recording_fill(r, end, FOR_GOOD, now_ms, p);
}

/* When the last slice is cut the process is gone, or held for the last search, in which its
 * mappings are looked at: both are of one moment. */
static void settle_last_rss(struct profile *p)
{
        const struct profile_scan *scan = profile_scanned(p);
        uint64_t bytes = own_resident_beside(p);

        if (bytes && p->slice_count && scan && PROFILE_SCAN_IS_LAST(scan->when))
                p->slices[p->slice_count - 1].rss_bytes = bytes;
}

void recording_finish(struct recording *r, const struct recording_end *end, uint64_t now_ns,
                      struct profile *p)
{
        uint64_t now_ms = slices_end_ms(&r->slices,
                                        scanner_end_ms(&r->scanner, end->end,
                                                       recording_elapsed_ms(r, now_ns)));
        struct standstill still = { WORKER_NONE };
        struct err e;

        wait_for_workers(r);
        if (r->journal)
                events_writer_finish(r->journal, end->end != PROFILE_END_UNKNOWN);
        if (end->end == PROFILE_END_UNKNOWN) {
                rss_read_peak(&r->rss, &r->view, now_ms);
                if (*r->path) /* it may have been too short for one */
                        recording_look_at_mappings(r, now_ms);
        }
        rss_told(&r->rss, &r->view, end->rss_peak_bytes);
        if (end->goes_on)
                standstill_begin(&still, &r->view, (pid_t)r->pid);
        if (view_refresh(&r->view, &e))
                recording_cut_last(r, end, now_ms);
        now_ms = slices_end_ms(&r->slices, now_ms);
        fill_last(r, end, now_ms, p);
        standstill_end(&still);
        settle_rss(r, end, &p->totals);
        if (end->starved)
                warnings_starved(p);
        find_leaks(r, end, p);
        settle_last_rss(p);
        if (r->journal)
                events_writer_give(r->journal, &r->ids, p);
        if (end->end == PROFILE_END_UNKNOWN && recording_is_gone(r))
                p->meta.end = PROFILE_END_GONE; /* it ended in the very moment in which we did */
        else if (end->end == PROFILE_END_UNKNOWN && !p->totals.attached)
                collect_warn(p, "the program was still running when the recording ended");
        recording_write_last(r, p, now_ms);
        if (end->end == PROFILE_END_UNKNOWN && !r->plan->visit)
                view_observer(&r->view, 0);
}
