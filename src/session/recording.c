/* SPDX-License-Identifier: MIT */
#include "session/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/procfs.h"
#include "base/clock.h"
#include "base/heap.h"
#include "base/io.h"
#include "collect/collect.h"
#include "collect/counters.h"
#include "collect/helper.h"
#include "collect/reclaim.h"
#include "collect/warnings.h"
#include "session/family.h"
#include "session/listener.h"
#include "wire/hello.h"

#define RECORDING_NAMES_EVERY_MS 1000u
#define RECORDING_NAMES_AT_ONCE 256u
#define RECORDING_PATIENCE_MS 30000u    /* a program that waits for its report waits no longer */
#define RECORDING_RSS_DOUBT (1u << 20)  /* bytes of heap beyond what was seen to be resident */

/* ---- begin and end ---- */

/* The stack first: when the ledger is still there after that, both belong to one program. */
static void note_program(struct recording *r)
{
        struct stat ledger;

        r->stack_start = process_stack(r->pid);
        r->replaced = fstat(r->view.fd, &ledger) == 0 && !process_maps(r->pid, ledger.st_ino);
}

static bool has_new_stack(const struct recording *r)
{
        uint64_t now = r->stack_start ? process_stack(r->pid) : 0;

        return now && now != r->stack_start;
}

struct recording *recording_new(const struct view *v, uint32_t pid, int pidfd, char *program, char *path,
                                const struct recording_plan *plan)
{
        struct recording *r = heap_zero(1, sizeof *r);
        char *exe;

        r->plan = plan;
        r->view = *v;
        r->pid = pid;
        r->pidfd = pidfd;
        r->program = program;
        r->path = path;
        r->results = -1;
        scanner_init(&r->scanner);
        looks_init(&r->looks);
        r->snapshot_due_ms = plan->snapshot_every_ms;
        r->snapshots.seen = v->head.served; /* marks of the process that it was forked from */
        r->cwd = process_link(pid, "cwd");
        rss_open(&r->rss, pid);
        jit_init(&r->jit, pid);
        process_exe(pid, &r->exe_dev, &r->exe_ino);
        if (plan->attended)
                note_program(r);
        exe = process_link(pid, "exe");
        r->exe_doubtful = *exe && strcmp(exe, r->view.head.exe) != 0;
        free(exe);
        checkpoint_init(&r->checkpoint, *path);
        view_observer(&r->view, (uint32_t)getpid());
        if (r->view.head.flags & WIRE_F_EVENTS && *path)
                r->journal = journal_open(&r->view, pid, (struct journal_place){ path, output_folder(plan->output, path) }, plan->log);
        return r;
}

void recording_free(struct recording *r, bool written)
{
        scanner_free(&r->scanner);
        looks_free(&r->looks);
        resident_free(&r->resident);
        journal_close(r->journal, !written);
        events_ids_free(&r->ids);
        view_close(&r->view);
        slices_free(&r->slices);
        snapshots_free(&r->snapshots);
        if (r->results >= 0)
                close(r->results);
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
        if (r->plan->attended)
                return r->replaced || has_new_stack(r);
        /* A process on its way out has lost its maps too: look twice. */
        return r->exe_doubtful && !family_has_agent((pid_t)r->pid) && process_exe(r->pid, &dev, &ino);
}

bool recording_is_gone(const struct recording *r)
{
        struct pollfd p = { .fd = r->pidfd, .events = POLLIN };

        return r->pidfd >= 0 ? poll(&p, 1, 0) == 1 : kill((pid_t)r->pid, 0) < 0 && errno == ESRCH;
}

static uint64_t elapsed_ms(const struct recording *r, uint64_t now_ns)
{
        uint64_t start_ns = r->view.head.start_monotonic_ns;

        return now_ns > start_ns ? (now_ns - start_ns) / 1000000u : 0;
}

/* ---- what the kernel knows ---- */

/* What became resident between the last look and the end is not known, unless the kernel told or it was little.  A heap
 * that grew far beyond the number in that time shows that this matters. */
static void settle_rss(const struct recording *r, const struct recording_end *end, struct profile_totals *t)
{
        if (!end->rss_peak_bytes && !end->rss_seen && t->peak_ms >= r->rss.ms &&
            t->peak_bytes > t->rss_peak_bytes + RECORDING_RSS_DOUBT)
                t->rss_peak_bytes = 0;
}

static void look_at_mappings(struct recording *r, uint64_t now_ms)
{
        resident_look(&r->resident, (struct keepers_process){ r->pid, &r->view }, now_ms);
}

/* Threads name themselves when they like; the ones that run now are asked again. */
static void refresh_names(struct recording *r)
{
        uint32_t threads = view_count(&r->view, LEDGER_THREADS, r->view.head.thread_count, sizeof(struct ledger_thread));
        uint32_t slots = counters_slots(&r->view);

        if (threads > r->name_count) {
                r->names = heap_grow(r->names, threads, sizeof *r->names);
                memset(r->names + r->name_count, 0, (threads - r->name_count) * sizeof *r->names);
                r->name_count = threads;
        }
        for (uint32_t i = 0; i < slots && i < RECORDING_NAMES_AT_ONCE; i++) {
                struct counters_slot slot;
                uint32_t tid = 0; /* of the thread's entry: a slot that changes hands has the next one's already */

                counters_slot(&r->view, i, &slot);
                view_read(&r->view, LEDGER_THREADS, slot.thread * sizeof(struct ledger_thread), &tid, sizeof tid);
                if (slot.used && slot.thread < r->name_count && slot.tid == tid)
                        process_thread_name(r->pid, slot.tid, r->names[slot.thread].text);
        }
}

/* ---- checkpoints ---- */

static void fill_meta(struct recording *r, const struct recording_end *end, uint64_t now_ms, struct profile *p)
{
        struct profile_meta *m = &p->meta;
        char host[256] = "";

        gethostname(host, sizeof host - 1);
        m->program = heap_text(r->program);
        m->cwd = heap_text(r->cwd);
        m->host = heap_text(host);
        m->engine = heap_text("preload");
        m->version = heap_text(SEEP_VERSION);
        m->duration_ms = now_ms;
        m->end = end->end;
        m->exit_code = end->code;
        m->exit_signal = end->signal;
        p->totals.rss_peak_bytes = r->rss.peak_bytes;
        p->totals.ledger_bytes = r->view.most_bytes;
        typed_arguments(m);
}

/* What a profile is for. */
enum purpose { FOR_REPORTS, FOR_CHECKPOINT, FOR_LIGHT, FOR_SEARCH, FOR_LOOK, FOR_BLOCKS, FOR_GOOD };

/* Whether a list of blocks may be made; false: R->unlisted says why not.  One for a search is part of what that takes. */
static bool may_list(struct recording *r, enum purpose purpose)
{
        *r->unlisted = 0;
        if (purpose == FOR_LOOK || purpose == FOR_LIGHT || purpose == FOR_REPORTS || purpose == FOR_SEARCH)
                return purpose == FOR_SEARCH;
        return helper_may_list(&r->view, (pid_t)r->pid, r->unlisted);
}

static void fill_profile(struct recording *r, const struct recording_end *end, enum purpose purpose, uint64_t now_ms, struct profile *p)
{
        struct collect_input in = {
                .view = &r->view,
                .slices = &r->slices,
                .names = r->names,
                .name_count = r->name_count,
                .pid = r->pid,
                .depth = r->plan->depth,
                .ended = end->end != PROFILE_END_UNKNOWN,
                .ids = r->journal && (purpose == FOR_GOOD || purpose == FOR_CHECKPOINT || purpose == FOR_LIGHT) ? &r->ids : NULL,
                .no_blocks = !may_list(r, purpose),
                .brief = purpose == FOR_REPORTS || (!*r->path && purpose != FOR_SEARCH && purpose != FOR_LOOK && purpose != FOR_BLOCKS),
        };

        collect(&in, p);
        fill_meta(r, end, now_ms, p);
        if (!in.brief)
                resident_store(&r->resident, p);
        if (!in.brief && *r->unlisted)
                collect_warn(p, "the recording has no list of live blocks: it takes %s", r->unlisted);
        jit_read(&r->jit, p);
}

/* In a process of its own, so that the clock and the slices go on meanwhile. */
static void write_checkpoint(struct recording *r, uint64_t now_ms)
{
        struct checkpoint_state state = { now_ms, r->view.present_bytes, r->plan->recordings };
        enum checkpoint_kind kind = checkpoint_due(&r->checkpoint, &state);
        struct recording_end end = { .end = PROFILE_END_UNKNOWN };
        struct profile p;
        struct err e;
        pid_t pid;

        if (kind == CHECKPOINT_NONE || !view_refresh(&r->view, &e))
                return;
        rss_read_peak(&r->rss, &r->view, now_ms); /* all that it tells is of this moment */
        if (r->resident.pause_ms <= CHECKPOINT_EVERY_MS)
                look_at_mappings(r, now_ms);
        pid = fork();
        if (pid != 0) {
                checkpoint_begun(&r->checkpoint, pid, kind, now_ms);
                output_written(r->plan->output, r->path);
                return;
        }
        helper_begin((pid_t)r->pid, NULL, NULL);
        slices_cut(&r->slices, &r->view, now_ms, r->rss.last_bytes, true);
        fill_profile(r, &end, kind == CHECKPOINT_WHOLE ? FOR_CHECKPOINT : FOR_LIGHT, now_ms, &p);
        journal_point(r->journal, &r->ids, &p);
        collect_warn(&p, "seep was killed, or is still recording: later events are missing");
        if (kind == CHECKPOINT_LIGHT)
                collect_warn(&p, "the list of live blocks is missing: it was too long to be written every few seconds");
        _exit(output_write(r->plan->output, &p, &r->path, false, &e) ? 0 : 1);
}

/* ---- snapshots and their reports ---- */

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

static void write_report(struct recording *r, const struct profile *p, const struct snapshots_due *due, struct reports_result *out)
{
        struct reports_place place = { output_directory(r->plan->output, r->path), output_folder(r->plan->output, r->path), r->program, r->pid };

        reports_write(&r->plan->author, &place, p, &due->order, out);
        free(place.directory);
}

/* In a process of its own, which ends here. */
static void write_reports(struct recording *r, uint64_t now_ms)
{
        struct recording_end end = { .end = PROFILE_END_UNKNOWN };
        struct reports_result result;
        struct profile p;
        bool good = true;

        helper_begin((pid_t)r->pid, NULL, NULL);
        fill_profile(r, &end, FOR_REPORTS, now_ms, &p);
        for (uint32_t i = 0; i < r->snapshots.due_count && good; i++) {
                write_report(r, &p, &r->snapshots.due[i], &result);
                good = io_write(r->results, &result, sizeof result);
        }
        _exit(good ? 0 : 1);
}

/* The oldest COUNT reports are done with: tell what became of them.  Without an answer in r->results: WHY. */
static void tell_reports(struct recording *r, uint32_t count, const char *why)
{
        struct reports_result result;

        for (uint32_t i = 0; i < count; i++) {
                const struct snapshots_due *due = &r->snapshots.due[i];

                if (pread(r->results, &result, sizeof result, (off_t)(i * sizeof result)) != (ssize_t)sizeof result) {
                        result = (struct reports_result){ .seq = due->order.seq };
                        snprintf(result.why, sizeof result.why, "%s", why);
                }
                r->plan->told(r->plan->context, r, due, &result);
        }
        snapshots_forget(&r->snapshots, count);
        if (r->results >= 0)
                close(r->results);
        r->results = -1;
        r->reports_begun = 0;
        r->reporter = 0;
}

/* No process or no descriptors: they may be there at the next tick. */
static void give_up_reports(struct recording *r, uint64_t now_ms)
{
        char why[128];

        snprintf(why, sizeof why, "cannot start a process for it: %s", strerror(errno));
        if (r->results >= 0)
                close(r->results);
        r->results = -1;
        r->reporter = 0;
        if (now_ms > r->reports_since_ms + RECORDING_PATIENCE_MS)
                tell_reports(r, r->snapshots.due_count, why);
}

static void start_reports(struct recording *r, uint64_t now_ms)
{
        if (r->reporter || !r->snapshots.due_count)
                return;
        if (!r->reports_since_ms)
                r->reports_since_ms = now_ms;
        r->results = memfd_create("seep-reports", MFD_CLOEXEC);
        r->reporter = r->results >= 0 ? fork() : -1;
        if (r->reporter == 0)
                write_reports(r, now_ms);
        if (r->reporter < 0)
                give_up_reports(r, now_ms);
        else
                r->reports_begun = r->snapshots.due_count;
}

static void take_results(struct recording *r, int status)
{
        char why[128];

        if (WIFSIGNALED(status))
                snprintf(why, sizeof why, "the process that wrote it was killed by signal %d", WTERMSIG(status));
        else
                snprintf(why, sizeof why, "the process that wrote it ended early, with status %d", WEXITSTATUS(status));
        tell_reports(r, r->reports_begun, why);
}

static void reports_done(struct recording *r, int status)
{
        uint64_t now_ms = elapsed_ms(r, clock_now_ns());

        take_results(r, status);
        r->reports_since_ms = 0;
        start_reports(r, now_ms);
        tell_served(r, now_ms);
}

static bool has_new_marks(const struct recording *r)
{
        const struct ledger_head *shared = view_shared(&r->view);

        return !shared || __atomic_load_n(&shared->mark_count, __ATOMIC_ACQUIRE) != r->snapshots.seen;
}

static void serve_marks(struct recording *r, uint64_t now_ms)
{
        struct snapshots_moment now;
        struct err e;

        if (has_new_marks(r) && view_refresh(&r->view, &e) && r->view.head.mark_count != r->snapshots.seen) {
                rss_read(&r->rss, &r->view);
                now = moment(r, now_ms);
                snapshots_look(&r->snapshots, &now);
        }
        start_reports(r, now_ms);
        tell_served(r, now_ms);
}

/* ---- searches for leaks ---- */

/* In the scanning process. */
static void collect_for_scan(void *context, struct profile *p)
{
        struct recording *r = context;
        struct recording_end end = { .end = PROFILE_END_UNKNOWN };

        fill_profile(r, &end, FOR_SEARCH, elapsed_ms(r, clock_now_ns()), p);
}

static struct scanner_order scan_order(struct recording *r)
{
        return (struct scanner_order){ (pid_t)r->pid, &r->view, r->plan->scan_flags, "", r, collect_for_scan };
}

static void serve_scans(struct recording *r)
{
        struct scanner_order order = scan_order(r);
        uint64_t now_ms = elapsed_ms(r, clock_now_ns());
        bool idle = !r->scanner.worker;
        struct err e = { 0 };

        view_tick(&r->view, now_ms, !idle); /* which the search has its moment from */
        scanner_start(&r->scanner, &order);
        if (!idle || !scanner_is_last(&r->scanner))
                return;
        scanner_over(&r->scanner, now_ms);
        view_refresh(&r->view, &e); /* an earlier copy of the head will do */
        look_at_mappings(r, now_ms); /* it waits, with all that it has */
        scanner_tell_nothing(&r->scanner, &order);
}

void recording_ask_scan(struct recording *r, uint32_t flags, int asker)
{
        if (r->view.head.sample_bytes || r->view.head.thin_count) {
                listener_refuse(asker, "%s, and pointers in and to unrecorded blocks would be missed",
                               r->view.head.thin_count ? "its ledger came near --limit-ledger" : "it is recorded with --sample");
                return;
        }
        scanner_ask(&r->scanner, asker, flags);
        serve_scans(r);
}

/* ---- looks ---- */

/* In the process that makes it: the slice up to now is for its own copy. */
static void collect_for_look(void *context, uint32_t flags, struct profile *p)
{
        struct recording *r = context;
        struct recording_end end = { .end = PROFILE_END_UNKNOWN };
        uint64_t now_ms = elapsed_ms(r, clock_now_ns());
        struct err e;

        view_refresh(&r->view, &e); /* an earlier copy of the head will do */
        rss_read_peak(&r->rss, &r->view, now_ms);
        slices_cut(&r->slices, &r->view, now_ms, r->rss.last_bytes, true);
        fill_profile(r, &end, flags & WIRE_LOOK_BLOCKS ? FOR_BLOCKS : FOR_LOOK, now_ms, p);
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
        looks_done(&r->looks, status);
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
        if (r->scanner.worker == pid)
                scan_done(r, status);
        else if (r->looks.worker == pid)
                look_done(r, status);
        else if (r->reporter == pid)
                reports_done(r, status);
        else if (r->reclaim.worker == pid)
                reclaim_done(&r->reclaim, &r->view, elapsed_ms(r, clock_now_ns()));
        else if (r->checkpoint.writer == pid)
                checkpoint_done(&r->checkpoint, status, cpu_ns);
        else
                return false;
        return true;
}

void recording_knock(struct recording *r, uint64_t now_ns)
{
        serve_marks(r, elapsed_ms(r, now_ns));
        serve_scans(r);
}

void recording_ask(struct recording *r, const char *label, int asker, uint64_t now_ns)
{
        uint64_t now_ms = elapsed_ms(r, now_ns);
        struct snapshots_moment now;
        struct err e;

        serve_marks(r, now_ms);
        view_refresh(&r->view, &e); /* an earlier copy of the head will do */
        rss_read(&r->rss, &r->view);
        now = moment(r, now_ms);
        snapshots_take(&r->snapshots, &now, LEDGER_MARK_OUTSIDE, label, true, asker);
        start_reports(r, now_ms);
}

/* Those that a clock or a threshold asks for. */
static void take_own_snapshots(struct recording *r, uint64_t now_ms)
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
                snapshots_take(&r->snapshots, &now, LEDGER_MARK_OUTSIDE, "rss", false, SNAPSHOTS_NOBODY);
        if (!timer)
                return;
        snapshots_take(&r->snapshots, &now, LEDGER_MARK_OUTSIDE, "timer", false, SNAPSHOTS_NOBODY);
        r->snapshot_due_ms = (now_ms / plan->snapshot_every_ms + 1) * plan->snapshot_every_ms;
}

/* ---- the course ---- */

uint64_t recording_step_ms(const struct recording *r)
{
        return slices_step_ms(&r->slices, r->slices.next_ms);
}

void recording_cut(struct recording *r, uint64_t now_ns)
{
        uint64_t now_ms = elapsed_ms(r, now_ns);
        struct err e;

        if (scanner_is_over(&r->scanner) || !slices_due(&r->slices, now_ms) || !view_refresh(&r->view, &e))
                return;
        rss_read(&r->rss, &r->view);
        slices_cut(&r->slices, &r->view, now_ms, r->rss.last_bytes, false);
}

void recording_tick(struct recording *r, uint64_t now_ns)
{
        uint64_t now_ms = elapsed_ms(r, now_ns);
        struct err e;

        view_tick(&r->view, now_ms, r->reporter > 0);
        serve_marks(r, now_ms);
        serve_scans(r);
        if (scanner_is_over(&r->scanner))
                return;
        take_own_snapshots(r, now_ms);
        write_checkpoint(r, now_ms);
        reclaim_tick(&r->reclaim, &r->view, now_ms);
        share_tick(&r->view, !r->reclaim.worker);
        if (!slices_due(&r->slices, now_ms))
                return;
        if (!view_refresh(&r->view, &e))
                return;
        rss_follow(&r->rss, &r->view, now_ms);
        slices_cut(&r->slices, &r->view, now_ms, r->rss.last_bytes, false);
        if (now_ms >= r->names_due_ms || r->view.head.thread_count != r->named_threads) {
                refresh_names(r);
                jit_look(&r->jit);
                r->named_threads = r->view.head.thread_count;
                r->names_due_ms = now_ms + RECORDING_NAMES_EVERY_MS;
        }
        if (now_ms >= r->resident.due_ms)
                look_at_mappings(r, now_ms);
}

/* ---- the end ---- */

static void wait_for_writers(struct recording *r)
{
        int status = 0;

        if (r->checkpoint.writer)
                waitpid(r->checkpoint.writer, NULL, 0);
        r->checkpoint.writer = 0;
        if (r->reclaim.worker)
                waitpid(r->reclaim.worker, NULL, 0);
        r->reclaim.worker = 0;
        if (r->looks.worker && waitpid(r->looks.worker, &status, 0) > 0)
                looks_done(&r->looks, status);
        if (!r->reporter)
                return;
        waitpid(r->reporter, &status, 0);
        take_results(r, status);
}

/* Marks that came since the last look, the last report, the last slice. */
static void cut_last(struct recording *r, const struct recording_end *end, uint64_t now_ms)
{
        bool ended = end->end != PROFILE_END_UNKNOWN;
        struct snapshots_moment now = moment(r, now_ms);

        now.ended = ended;
        snapshots_look(&r->snapshots, &now);
        if (r->plan->attended && !r->snapshots.exit_seen)
                snapshots_take(&r->snapshots, &now, ended ? LEDGER_MARK_EXIT : LEDGER_MARK_OUTSIDE, "", true, SNAPSHOTS_NOBODY);
        else
                slices_cut(&r->slices, &r->view, now_ms, r->rss.last_bytes, true);
}

/* The reports that nobody began to write. */
static void write_last_reports(struct recording *r, const struct profile *p, uint64_t now_ms)
{
        struct reports_result result;

        for (uint32_t i = 0; i < r->snapshots.due_count; i++) {
                write_report(r, p, &r->snapshots.due[i], &result);
                r->plan->told(r->plan->context, r, &r->snapshots.due[i], &result);
        }
        snapshots_forget(&r->snapshots, r->snapshots.due_count);
        tell_served(r, now_ms);
}

static void find_leaks(struct recording *r, const struct recording_end *end, struct profile *p)
{
        struct scanner_order order = scan_order(r);

        if (!*r->path)
                return;
        order.unlisted = r->unlisted;
        if (end->end == PROFILE_END_UNKNOWN)
                scanner_last(&r->scanner, &order, p);
        else
                scanner_finish(&r->scanner, &order, p);
}

void recording_finish(struct recording *r, const struct recording_end *end, uint64_t now_ns, struct profile *p)
{
        uint64_t now_ms = slices_end_ms(&r->slices, scanner_end_ms(&r->scanner, end->end, elapsed_ms(r, now_ns)));
        struct err e;

        wait_for_writers(r);
        if (r->journal)
                journal_finish(r->journal, end->end != PROFILE_END_UNKNOWN);
        if (end->end == PROFILE_END_UNKNOWN)
                rss_read_peak(&r->rss, &r->view, now_ms);
        rss_told(&r->rss, &r->view, end->rss_peak_bytes);
        if (view_refresh(&r->view, &e))
                cut_last(r, end, now_ms);
        now_ms = slices_end_ms(&r->slices, now_ms);
        fill_profile(r, end, FOR_GOOD, now_ms, p);
        settle_rss(r, end, &p->totals);
        if (end->starved)
                warnings_starved(p);
        find_leaks(r, end, p);
        if (r->journal)
                journal_give(r->journal, &r->ids, p);
        if (end->end == PROFILE_END_UNKNOWN && recording_is_gone(r))
                p->meta.end = PROFILE_END_GONE; /* it ended in the very moment in which we did */
        else if (end->end == PROFILE_END_UNKNOWN)
                collect_warn(p, "the program was still running when the recording ended");
        write_last_reports(r, p, now_ms);
        if (end->end == PROFILE_END_UNKNOWN)
                view_observer(&r->view, 0);
}
