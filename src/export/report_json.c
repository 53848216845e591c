/* SPDX-License-Identifier: MIT */
/*
 * report_json.c -- the machine-readable report, version 1.
 *
 * Cost:   130,000 stacks of 42 frames, 100 MB: 0.5 s of CPU time.
 */
#include "export/report_json.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/heap.h"
#include "base/json.h"
#include "export/export.h"
#include "ledger/ledger.h"
#include "profile/unseen.h"
#include "query/errors.h"
#include "query/merge.h"
#include "query/residence.h"

struct json {
        const struct selection *sel;
        const struct profile *profile;
        struct select_known known; /* at the moment */
        struct str *out;
        struct frames frames;
        struct leaks leaks;
};

static void json_texts(struct str *out, char *const *texts, uint32_t count)
{
        str_char(out, '[');
        for (uint32_t i = 0; i < count; i++) {
                if (i)
                        str_text(out, ", ");
                json_text(out, texts[i]);
        }
        str_char(out, ']');
}

static void json_unseen(const struct profile *p, struct str *out)
{
        const char *before = "";

        str_text(out, " \"unseen\": [");
        for (enum unseen reason = 0; reason < UNSEEN_COUNT; reason++) {
                struct str text = { 0 };

                if (!unseen_say(p, reason, &text))
                        continue;
                str_text(out, before);
                before = ", ";
                json_text(out, str_get(&text));
                str_free(&text);
        }
        str_text(out, "],\n");
}

void report_json_recording(const struct profile *p, struct str *out)
{
        const struct profile_meta *m = &p->meta;

        json_text_field(out, "{\"seep\": 1,\n \"", "program", m->program);
        str_text(out, ",\n \"args\": ");
        json_texts(out, m->args, m->arg_count);
        json_field(out, ",\n \"", "pid", m->pid);
        json_field(out, ", \"", "duration_ms", m->duration_ms);
        str_format(out, ", \"complete\": %s, \"recorded\": %s,\n", m->complete ? "true" : "false",
                   profile_is_walked(p) ? "false" : "true");
        json_unseen(p, out);
        str_text(out, " \"full\": ");
        unseen_full_json(p, out);
        str_text(out, ",\n");
        str_text(out, " \"warnings\": ");
        json_texts(out, m->warnings, m->warning_count);
        str_text(out, ",\n \"exit\": {\"code\": ");
        if (m->end == PROFILE_END_EXIT)
                json_number(out, m->exit_code);
        else
                str_text(out, "null");
        str_text(out, ", \"signal\": ");
        if (m->end == PROFILE_END_SIGNAL)
                json_number(out, m->exit_signal);
        else
                str_text(out, "null");
        str_text(out, "},\n");
}

void report_json_known(struct str *out, const char *before, bool known, uint64_t value)
{
        bool negative = (int64_t)value < 0;

        str_text(out, before);
        if (!known) {
                str_text(out, "null");
                return;
        }
        str_text(out, negative ? "-" : "");
        json_number(out, negative ? -value : value);
}

/* ---- of when ---- */

static void json_instant(const struct profile *p, const struct moment *m, struct str *out)
{
        const struct profile_mark *mark = m->type == MOMENT_MARK ? &p->marks[m->mark] : NULL;
        struct str word = { 0 };

        moment_word(p, m, &word);
        str_text(out, "{\"at\": ");
        json_text(out, mark                     ? profile_mark_word(mark->type)
                       : m->type == MOMENT_TIME ? "time"
                                                : str_get(&word));
        json_field(out, ", \"", "ms", moment_ms(p, m));
        if (mark && mark->seq)
                json_field(out, ", \"", "seq", mark->seq);
        if (mark) {
                json_text_field(out, ", \"", "label", mark->label);
        }
        str_char(out, '}');
        str_free(&word);
}

void report_json_moment(const struct selection *sel, struct str *out)
{
        if (sel->moment != SELECT_OF_RANGE) {
                json_instant(sel->profile, &sel->at, out);
                return;
        }
        str_text(out, "{\"range\": [");
        json_instant(sel->profile, &sel->from, out);
        str_text(out, ", ");
        json_instant(sel->profile, &sel->to, out);
        str_format(out, "], \"survivors\": %s}", sel->survivors ? "true" : "false");
}

/* Whether something that began at START and ended at END (0: not) is of SEL's moment. */
static bool json_is_then(const struct selection *sel, uint64_t start_ms, uint64_t end_ms)
{
        bool range = sel->moment == SELECT_OF_RANGE;

        return start_ms <= moment_ms(sel->profile, range ? &sel->to : &sel->at) &&
               (!range || !end_ms || end_ms >= moment_ms(sel->profile, &sel->from));
}

/* ---- totals ---- */

/* Only where something was to be left out (record --omit). */
static void json_omitted(const struct profile_totals *t, struct str *out)
{
        if (!t->omitted && !t->omitted_maps)
                return;
        json_field(out, ",\n  \"", "omitted", t->omitted);
        json_field(out, ", \"", "omitted_bytes", t->omitted_bytes);
        json_field(out, ", \"", "omitted_maps", t->omitted_maps);
        json_field(out, ", \"", "omitted_map_bytes", t->omitted_map_bytes);
}

void report_json_total_numbers(const struct profile *p, struct str *out)
{
        const struct profile_totals *t = &p->totals;

        json_field(out, "\"", "allocations", t->allocations);
        json_field(out, ", \"", "frees", t->frees);
        json_field(out, ", \"", "bytes_allocated", t->bytes_allocated);
        json_field(out, ", \"", "live_blocks", t->live_blocks);
        json_field(out, ", \"", "live_bytes", t->live_bytes);
        json_field(out, ",\n  \"", "peak_bytes", t->peak_bytes);
        json_field(out, ", \"", "peak_blocks", t->peak_blocks);
        json_field(out, ", \"", "peak_ms", profile_peak_ms(p));
        json_field(out, ", \"", "peak_error_bytes", t->peak_error_bytes);
        json_field(out, ", \"", "temporary", t->temporary);
        json_field(out, ",\n  \"", "unknown_frees", t->unknown_frees);
        json_field(out, ", \"", "double_frees", t->double_frees);
        json_field(out, ", \"", "mismatched", t->mismatched);
        json_field(out, ", \"", "older", t->older);
        json_field(out, ", \"", "mmap_live_bytes", t->mmap_live_bytes);
        json_field(out, ", \"", "mmap_calls", t->mmap_calls);
        json_field(out, ", \"", "mmap_bytes", t->mmap_bytes);
        if (t->rss_peak_bytes)
                json_field(out, ", \"", "rss_peak_bytes", t->rss_peak_bytes);
        else
                str_text(out, ", \"rss_peak_bytes\": null"); /* too quick to be measured */
        if (t->verify_captures) {
                json_field(out, ",\n  \"", "verify_captures", t->verify_captures);
                json_field(out, ", \"", "verify_differences", t->verify_differences);
                json_field(out, ", \"", "verify_backtraces", t->verify_backtraces);
                json_field(out, ", \"", "verify_backtrace_differences",
                           t->verify_backtrace_differences);
        }
        json_field(out, ",\n  \"", "truncated_stacks", t->truncated_stacks);
        json_field(out, ", \"", "lost_events", t->lost_events);
        json_field(out, ", \"", "ledger_bytes", t->ledger_bytes);
        json_omitted(t, out);
        /* Only where the ledger came near its limit (record --limit-ledger). */
        if (t->thin_ms[0]) {
                json_field(out, ",\n  \"", "thinned_ms", t->thin_ms[0]);
                json_field(out, ", \"", "thinned_bytes", t->thin_bytes);
                json_field(out, ", \"", "thinned_events", t->thin_events);
                json_field(out, ", \"", "ledger_limit", t->ledger_limit);
        }
}

static struct select_row json_sums(const struct select_part *part)
{
        struct select_row sums = { 0 };

        for (uint32_t i = 0; i < part->count; i++)
                merge_add(&sums, &part->rows[i]);
        return sums;
}

/* The same at another moment than the end: sums over all sites, whatever is selected. */
static void json_sum_numbers(const struct selection *sel, struct symbols *s, struct str *out)
{
        const struct select_request request = { .cost = SELECT_LIVE, .each_site = true,
                                                .at = sel->at, .from = sel->from, .to = sel->to,
                                                .change = sel->change };
        const struct profile_totals *t = &sel->profile->totals;
        const struct select_known known = select_known(sel);
        struct select_row heap, mapped;
        struct selection all;
        struct err unused;

        select_make(&all, sel->profile, s, &request, &unused); /* SEL has the moment */
        heap = json_sums(&all.heap);
        mapped = json_sums(&all.mapped);
        report_json_known(out, "\"allocations\": ", known.calls, heap.allocs);
        report_json_known(out, ", \"frees\": ", known.calls, heap.frees);
        report_json_known(out, ", \"bytes_allocated\": ", known.calls, heap.alloc_bytes);
        report_json_known(out, ", \"live_blocks\": ", true, heap.live_blocks);
        report_json_known(out, ", \"live_bytes\": ", true, heap.live_bytes);
        report_json_known(out, ",\n  \"peak_bytes\": ", known.peak, t->peak_bytes);
        report_json_known(out, ", \"peak_blocks\": ", known.peak, t->peak_blocks);
        report_json_known(out, ", \"peak_ms\": ", known.peak, profile_peak_ms(sel->profile));
        report_json_known(out, ", \"peak_error_bytes\": ", known.peak, t->peak_error_bytes);
        str_text(out,
                 ", \"temporary\": null,\n  \"unknown_frees\": null, \"double_frees\": null, "
                 "\"mismatched\": null");
        report_json_known(out, ", \"mmap_live_bytes\": ", true, mapped.live_bytes);
        report_json_known(out, ", \"mmap_calls\": ", known.calls, mapped.allocs);
        report_json_known(out, ", \"mmap_bytes\": ", known.calls, mapped.alloc_bytes);
        str_text(out,
                 ", \"rss_peak_bytes\": null,\n  \"truncated_stacks\": null, \"lost_events\": "
                 "null, \"ledger_bytes\": null");
        select_free(&all);
}

/* ---- leaks ---- */

static void json_sum(struct str *out, const char *name, const struct leaks_sum *sum)
{
        str_char(out, '"');
        str_text(out, name);
        json_signed_field(out, "\": {\"", "blocks", sum->blocks);
        json_signed_field(out, ", \"", "bytes", sum->bytes);
        str_char(out, '}');
}

void report_json_classes(const struct leaks_sum *sums, struct str *out)
{
        for (uint32_t leak = PROFILE_LEAK_DEFINITE; leak >= PROFILE_LEAK_REACHABLE; leak--) {
                if (sums)
                        json_sum(out, profile_leak_word(leak), &sums[leak]);
                else
                        str_format(out, "\"%s\": null", profile_leak_word(leak));
                str_text(out, leak > PROFILE_LEAK_REACHABLE ? ", " : "");
        }
}

static void json_scan(struct str *out, const struct profile_scan *scan)
{
        json_text_field(out, "{\"", "when", profile_scan_word(scan->when));
        json_field(out, ", \"", "ms", scan->ms);
        json_field(out, ", \"", "pause_us", scan->pause_us);
        json_field(out, ", \"", "scan_us", scan->scan_us);
        json_field(out, ", \"", "threads", scan->threads);
        json_field(out, ", \"", "roots", scan->roots);
        json_field(out, ", \"", "root_bytes", scan->root_bytes);
        json_field(out, ", \"", "heap_bytes", scan->heap_bytes);
        str_format(out, ", \"unaligned\": %s, \"copy\": %s, \"graph\": %s, \"increment\": %s}",
                   scan->flags & PROFILE_SCAN_UNALIGNED ? "true" : "false",
                   scan->flags & PROFILE_SCAN_COPY ? "true" : "false",
                   scan->flags & PROFILE_SCAN_GRAPH ? "true" : "false",
                   scan->flags & PROFILE_SCAN_INCREMENT ? "true" : "false");
}

void report_json_leaks(const struct leaks *l, struct str *out)
{
        struct str reason = { 0 };

        str_format(out, "{\"scanned\": %s, ", l->scan ? "true" : "false");
        report_json_classes(l->sums, out);
        str_text(out, ",\n  ");
        json_sum(out, "idiom", &l->idiom);
        str_text(out, ", ");
        json_sum(out, "suppressed", &l->suppressed);
        str_text(out, ", \"scan\": ");
        if (l->scan) {
                json_scan(out, l->scan);
        } else {
                leaks_not_scanned(l->sel->profile, &reason);
                json_text_field(out, "null, \"", "reason", str_get(&reason));
                str_free(&reason);
        }
        str_char(out, '}');
}

void report_json_site_numbers(const struct select_row *row, const struct leaks_sum *leak,
                              const struct select_known *known, struct str *out)
{
        const struct leaks_sum *definite = &leak[PROFILE_LEAK_DEFINITE],
                               *indirect = &leak[PROFILE_LEAK_INDIRECT];

        report_json_known(out, ", \"allocations\": ", known->calls, row->allocs);
        report_json_known(out, ", \"frees\": ", known->calls, row->frees);
        report_json_known(out, ", \"bytes_allocated\": ", known->calls, row->alloc_bytes);
        report_json_known(out, ", \"live_blocks\": ", true, row->live_blocks);
        report_json_known(out, ", \"live_bytes\": ", true, row->live_bytes);
        report_json_known(out, ", \"peak_blocks\": ", known->peak, row->peak_blocks);
        report_json_known(out, ", \"peak_bytes\": ", known->peak, row->peak_bytes);
        report_json_known(out, ", \"temporary\": ", known->temporary, row->temporary);
        report_json_known(out, ", \"lifetime_ms\": ", known->lifetimes, row->lifetime_ms);
        report_json_known(out, ", \"leaked_blocks\": ", known->end,
                          definite->blocks + indirect->blocks);
        report_json_known(out, ", \"leaked_bytes\": ", known->end,
                          definite->bytes + indirect->bytes);
        str_text(out, ", \"leak\": {");
        report_json_classes(known->end ? leak : NULL, out);
        str_char(out, '}');
}

static void json_site(struct json *j, const struct select_row *row)
{
        struct leaks_sum sums[PROFILE_LEAK_COUNT];
        struct str *out = j->out;

        leaks_of_site(&j->leaks, row->site, sums);
        json_field(out, "{\"", "id", row->site);
        report_json_site_numbers(row, sums, &j->known, out);
        json_text_field(out, ", \"", "kind", profile_kind_name(j->profile, row->kind));
        str_text(out, ", \"stack\": ");
        frames_stack(&j->frames, j->sel, row->node, out);
        if (frames_cut_off(j->sel, row->node))
                str_text(out, ", \"truncated\": true");
        str_char(out, '}');
}

static int row_compare(const void *a, const void *b)
{
        const struct select_row *const *x = a, *const *y = b;

        return (*x)->site < (*y)->site ? -1 : (*x)->site > (*y)->site;
}

static void json_sites(struct json *j)
{
        const struct select_part *parts[] = { &j->sel->heap, &j->sel->mapped, &j->sel->older };
        const struct select_row **rows = heap_zero((size_t)parts[0]->count + parts[1]->count +
                                                           parts[2]->count,
                                                   sizeof *rows);
        uint32_t count = 0;

        for (int k = 0; k < 3; k++)
                for (uint32_t i = 0; i < parts[k]->count; i++)
                        rows[count++] = &parts[k]->rows[i];
        qsort(rows, count, sizeof *rows, row_compare);
        str_text(j->out, " \"sites\": [");
        for (uint32_t i = 0; i < count; i++) {
                str_text(j->out, i ? ",\n  " : "\n  ");
                json_site(j, rows[i]);
                str_drain(j->out);
        }
        str_text(j->out, "],\n");
        free(rows);
}

/* Frames that only errors mention must be listed too: called before frames_list. */
static void json_error(const struct profile *p, const struct profile_error *error, struct frames *f,
                       struct str *out)
{
        struct selection whole = { .profile = p }; /* stacks of errors are never cut */
        uint32_t origin = errors_origin(p, error);

        json_text_field(out, "{\"", "type", errors_word(error->type));
        str_format(out, ", \"address\": \"0x%" PRIx64 "\"", error->address);
        report_json_known(out, ", \"count\": ", error->count != 0, error->count);
        json_field(out, ", \"", "size", error->size);
        str_text(out, ", \"alloc_stack\": ");
        if (origin)
                frames_stack(f, &whole, p->sites[origin].node, out);
        else
                str_text(out, "null");
        str_text(out, ", \"stack\": ");
        frames_stack(f, &whole, error->node, out);
        str_text(out, ", \"first_free_stack\": ");
        if (error->free_node)
                frames_stack(f, &whole, error->free_node, out);
        else
                str_text(out, "null");
        if (errors_around(p, error).site)
                json_field(out, ", \"", "offset", error->address - errors_around(p, error).address);
        if (error->wrong == LEDGER_WRONG_SIZE)
                json_field(out, ", \"", "given_size", error->given);
        if (error->wrong == LEDGER_WRONG_ALIGNMENT) {
                json_field(out, ", \"", "alignment", error->alignment);
                json_field(out, ", \"", "given_alignment", error->given);
        }
        str_char(out, '}');
}

void report_json_errors(const struct profile *p, const uint8_t *skip, struct frames *f,
                        struct str *out)
{
        bool first = true;

        for (uint32_t i = 0; i < p->error_count; i++) {
                if (skip && skip[i])
                        continue;
                str_text(out, first ? "\n  " : ",\n  ");
                first = false;
                json_error(p, &p->errors[i], f, out);
        }
}

/* Those that were first met by then; how often is known only of those that were met once. */
static void json_errors_then(struct json *j)
{
        const char *before = "\n  ";

        for (uint32_t i = 0; i < j->profile->error_count; i++) {
                struct profile_error error = j->profile->errors[i];

                if (!json_is_then(j->sel, error.first_ms, error.first_ms))
                        continue;
                error.count = error.count > 1 ? 0 : error.count;
                str_text(j->out, before);
                before = ",\n  ";
                json_error(j->profile, &error, &j->frames, j->out);
        }
}

static void json_thread(struct json *j, const struct profile_thread *thread)
{
        struct str *out = j->out;
        bool known = j->known.end;

        str_text(out, "{\"tid\": ");
        if (thread->tid)
                json_number(out, thread->tid);
        else
                str_text(out, "null");
        json_text_field(out, ", \"", "name", thread->name);
        report_json_known(out, ", \"allocations\": ", known, thread->allocations);
        report_json_known(out, ", \"bytes_allocated\": ", known, thread->bytes_allocated);
        report_json_known(out, ", \"live_blocks\": ", known, thread->live_blocks);
        report_json_known(out, ", \"live_bytes\": ", known, thread->live_bytes);
        json_field(out, ", \"", "start_ms", thread->start_ms);
        if (thread->end_ms)
                json_field(out, ", \"", "end_ms", thread->end_ms);
        else
                str_text(out, ", \"end_ms\": null");
        str_char(out, '}');
}

/* Those that had begun by then, with what they did where that is known.  threads[0] stands for what
 * no thread is known of; it is told only when it did something. */
static void json_threads(struct json *j)
{
        const struct profile *p = j->profile;
        bool first = true;

        str_text(j->out, " \"threads\": [");
        for (uint32_t i = 0; i < p->thread_count; i++) {
                const struct profile_thread *thread = &p->threads[i];

                if (i == 0 && (!j->known.end || (!thread->allocations && !thread->live_blocks)))
                        continue;
                if (!j->known.end && !json_is_then(j->sel, thread->start_ms, thread->end_ms))
                        continue;
                str_text(j->out, first ? "\n  " : ",\n  ");
                first = false;
                json_thread(j, thread);
        }
        str_text(j->out, "],\n");
}

/* Not known at another moment than the end: an empty list. */
static void json_handles(struct json *j, const struct selection *sel, uint32_t site)
{
        bool first = true;

        str_char(j->out, '[');
        for (uint32_t i = 0; sel->moment == SELECT_OF_RUN && i < j->profile->handle_count; i++) {
                const struct profile_handle *h = &j->profile->handles[i];

                if (h->site >= j->profile->site_count || sel->leaders[h->site] != site)
                        continue;
                str_text(j->out, first ? "" : ", ");
                first = false;
                json_number(j->out, h->handle);
        }
        str_char(j->out, ']');
}

static void json_resources(struct json *j, const struct selection *sel)
{
        str_text(j->out, " \"resources\": [");
        for (uint32_t i = 0; sel && i < sel->heap.count; i++) {
                const struct select_row *row = &sel->heap.rows[i];

                str_text(j->out, i ? ",\n  {\"type\": " : "\n  {\"type\": ");
                json_text(j->out, profile_kind_name(j->profile, row->kind));
                json_field(j->out, ", \"", "id", row->site);
                report_json_site_numbers(row, (const struct leaks_sum[PROFILE_LEAK_COUNT]){ { 0 } },
                                         &j->known, j->out);
                str_text(j->out, ", \"handles\": ");
                json_handles(j, sel, row->site);
                str_text(j->out, ", \"stack\": ");
                frames_stack(&j->frames, sel, row->node, j->out);
                str_char(j->out, '}');
        }
        str_text(j->out, "],\n");
}

static void json_mark(struct json *j, const struct profile_mark *mark)
{
        const struct profile_slice *slice = mark->slice < j->profile->slice_count
                                                    ? &j->profile->slices[mark->slice]
                                                    : NULL;

        json_text_field(j->out, "\"", "type", profile_mark_word(mark->type));
        json_text_field(j->out, ", \"", "label", mark->label);
        json_field(j->out, ", \"", "ms", mark->ms);
        json_field(j->out, ", \"", "live_bytes", slice ? slice->live_bytes : 0);
        json_field(j->out, ", \"", "live_blocks", slice ? slice->live_blocks : 0);
        json_field(j->out, ", \"", "allocations", slice ? slice->allocs : 0);
        str_char(j->out, '}');
}

/* Snapshots have a number, other marks have none. */
static void json_marks(struct json *j, bool snapshots)
{
        bool first = true;

        for (uint32_t i = 0; i < j->profile->mark_count; i++) {
                const struct profile_mark *mark = &j->profile->marks[i];

                if (snapshots != (mark->seq != 0))
                        continue;
                str_text(j->out, first ? "\n  {" : ",\n  {");
                first = false;
                if (snapshots) {
                        json_field(j->out, "\"", "seq", mark->seq);
                        str_text(j->out, ", ");
                }
                json_mark(j, mark);
        }
}

/* Like the totals, of the whole recording: whatever the selection leaves out. */
static void json_all_leaks(struct json *j, struct symbols *s)
{
        const struct select_request request = { .cost = SELECT_LIVE, .each_site = true };
        struct selection all;
        struct leaks leaks;
        struct err unused;

        if (!j->known.end) {
                str_text(j->out, " \"leaks\": {\"scanned\": false, ");
                report_json_classes(NULL, j->out);
                str_text(j->out,
                         ",\n  \"suppressed\": null, \"scan\": null, \"reason\": \"leaks are known "
                         "of the end only\"},\n");
                return;
        }
        str_text(j->out, " \"leaks\": ");
        if (j->sel->whole) {
                report_json_leaks(&j->leaks, j->out);
        } else {
                select_make(&all, j->profile, s, &request, &unused); /* nothing can be missing */
                leaks_make_sums(&leaks, &all, s);
                report_json_leaks(&leaks, j->out);
                leaks_free(&leaks);
                select_free(&all);
        }
        str_text(j->out, ",\n");
}

static void json_kept(const struct residence_part *part, struct str *out)
{
        json_text_field(out, "{\"", "kind", profile_keeper_word(part->keeper));
        json_field(out, ", \"", "mappings", part->mappings);
        json_field(out, ", \"", "bytes", part->bytes);
        json_field(out, ", \"", "rss_bytes", part->rss_bytes);
        json_field(out, ", \"", "live_blocks", part->blocks);
        json_field(out, ", \"", "live_bytes", part->live_bytes);
        json_field(out, ", \"", "overhead_bytes", part->overhead_bytes);
        if (part->unrecorded_bytes)
                json_field(out, ", \"", "unrecorded_bytes", part->unrecorded_bytes);
        json_field(out, ", \"", "free_bytes", part->free_bytes);
        if (part->guessed)
                str_text(out, ", \"whole_page_bytes\": null");
        else
                json_field(out, ", \"", "whole_page_bytes", part->whole_bytes);
        str_char(out, '}');
}

/* What the allocator has resident, at the last look; null: none, or another moment is asked for. */
static void json_resident(const struct json *j)
{
        const struct profile *p = j->profile;
        struct str *out = j->out;
        const struct residence_part *wasted;
        struct residence_sums sums;
        struct str advice = { 0 };
        bool first = true;

        if (!p->mapping_count || !j->known.end) {
                str_text(out, " \"resident\": null,\n");
                return;
        }
        residence_sum(p, &sums);
        wasted = residence_wasted(&sums);
        json_field(out, " \"resident\": {\"", "ms", p->totals.mappings_ms);
        json_field(out, ", \"", "rss_bytes", sums.rss_bytes);
        json_field(out, ", \"", "free_bytes", sums.free_bytes);
        str_format(out, ", \"estimate\": %s, \"advice\": ", sums.guessed ? "true" : "false");
        if (wasted)
                residence_advice(wasted, &advice);
        if (wasted)
                json_text(out, str_get(&advice));
        else
                str_text(out, "null");
        str_text(out, ",\n  \"allocator\": [");
        for (uint32_t i = 1; i < PROFILE_KEEPER_COUNT; i++)
                if (sums.parts[i].mappings) {
                        str_text(out, first ? "\n   " : ",\n   ");
                        json_kept(&sums.parts[i], out);
                        first = false;
                }
        str_text(out, "]},\n");
        str_free(&advice);
}

void report_json_write(const struct selection *sel, const struct selection *resources,
                       struct symbols *s, struct str *out)
{
        struct json j = { .sel = sel, .profile = sel->profile, .known = select_known(sel),
                          .out = out };

        frames_start(&j.frames, sel, s);
        leaks_make_sums(&j.leaks, sel, s);
        report_json_recording(j.profile, out);
        str_text(out, " \"moment\": ");
        report_json_moment(sel, out);
        str_text(out, ",\n \"totals\": {");
        if (j.known.end)
                report_json_total_numbers(j.profile, out);
        else
                json_sum_numbers(sel, s, out);
        str_text(out, "},\n");
        json_resident(&j);
        json_all_leaks(&j, s);
        json_sites(&j);
        json_resources(&j, resources);
        str_text(out, " \"errors\": [");
        if (j.known.end)
                report_json_errors(j.profile, NULL, &j.frames, out);
        else
                json_errors_then(&j);
        str_text(out, "],\n \"frames\": [");
        frames_list(&j.frames, true, out);
        str_text(out, "],\n");
        json_threads(&j);
        str_text(out, " \"snapshots\": [");
        json_marks(&j, true);
        str_text(out, "],\n \"tags\": [");
        json_marks(&j, false);
        str_text(out, "]}\n");
        leaks_free(&j.leaks);
        frames_free(&j.frames);
}

bool export_json(const struct export_input *in, struct str *out, struct err *e)
{
        (void)e; /* nothing can fail */
        report_json_write(in->sel, in->resources, in->symbols, out);
        return true;
}
