/* SPDX-License-Identifier: MIT */
#include "cli/roster.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/order.h"
#include "base/plain.h"
#include "cli/message.h"
#include "profile/packed.h"
#include "query/leaks.h"
#include "words/text.h"

#define ROSTER_LISTED_MAX 5u  /* other processes named one by one */
#define ROSTER_SMALL_PART 100u /* of the main one's peak: what has less is only counted */
#define ROSTER_IDLE_PART 100u /* a starter with less than one part in so many of the busiest
                               * one's allocations is idle */

void roster_free(struct roster *r)
{
        for (uint32_t i = 0; i < r->count; i++) {
                free(r->rows[i].program);
                free(r->rows[i].path);
        }
        for (uint32_t i = 0; i < r->reports_count; i++) {
                free(r->reports[i].first);
                free(r->reports[i].last);
        }
        free(r->rows);
        free(r->reports);
        profile_free(&r->main.profile);
        profile_free(&r->busiest.profile);
        *r = (struct roster){ 0 };
}

static uint64_t allocations(const struct roster_entry *e)
{
        return e->filled ? e->profile.totals.allocations : 0;
}

static uint64_t peak(const struct roster_entry *e)
{
        return e->filled ? e->profile.totals.peak_bytes : 0;
}

static uint32_t count_snapshots(const struct profile *p)
{
        uint32_t count = 0;

        for (uint32_t i = 0; i < p->mark_count; i++)
                count += p->marks[i].seq != 0;
        return count;
}

/* What is not recorded may be gone before anybody saw it, but the program before it was
 * searched at that moment. */
static bool was_replaced(const struct profile *p)
{
        const struct profile_scan *scan = profile_scanned(p);

        return p->meta.end == PROFILE_END_EXEC || (scan && scan->when == PROFILE_SCAN_EXEC);
}

static bool has_lost(const struct profile *p)
{
        struct packed_walk w;
        bool found = false;

        packed_open(&w, p);
        while (!found && packed_next(&w))
                found = w.verdict->leak == PROFILE_LEAK_DEFINITE;
        packed_close(&w);
        return found;
}

/* Names are looked up only where something is lost. */
struct leaks_sum roster_lost(const struct profile *p)
{
        struct leaks_sum lost = { 0 };
        struct symbols *s;
        struct selection sel;
        struct leaks l;
        struct err unused = { 0 };

        if (!profile_scanned(p) || (was_replaced(p) && p->totals.forked) || !has_lost(p))
                return lost;
        s = symbols_new(p,
                        &(struct symbol_options){ .no_debuginfod = true, .no_new_cache = true,
                                                  .raw = true });
        if (select_make(&sel, p, s, &(struct select_request){ .cost = SELECT_LIVE }, &unused)) {
                leaks_make_sums(&l, &sel, s);
                lost = l.sums[PROFILE_LEAK_DEFINITE];
                leaks_free(&l);
        }
        select_free(&sel);
        symbols_free(s);
        return lost;
}

/* What the profile of row ROW lost: asked for only where a line may tell it. */
static void note_lost(struct roster *r, uint32_t row, const struct profile *p)
{
        struct leaks_sum lost = roster_lost(p);

        r->rows[row].lost_blocks = lost.blocks;
        r->rows[row].lost_bytes = lost.bytes;
}

/* P is moved; what was there before has a line of its own. */
static void fill(struct roster *r, struct roster_entry *e, struct profile *p, uint32_t row)
{
        if (e->filled && !e->noted)
                note_lost(r, e->row, &e->profile);
        profile_free(&e->profile);
        *e = (struct roster_entry){ .profile = *p, .row = row, .filled = true };
        *p = (struct profile){ 0 };
}

/* Whether P was moved. */
static bool offer(struct roster *r, struct profile *p, uint32_t row)
{
        if (r->busiest.filled && p->totals.allocations <= allocations(&r->busiest))
                return false;
        fill(r, &r->busiest, p, row);
        return true;
}

void roster_add(struct roster *r, struct profile *p, const char *path, bool is_main)
{
        uint32_t row = r->count++;
        const struct profile_scan *scan = profile_scanned(p);

        r->rows = heap_grow(r->rows, r->count, sizeof *r->rows);
        r->rows[row] = (struct roster_row){ heap_text(p->meta.program), heap_text(path),
                                            p->meta.pid, count_snapshots(p), p->totals.allocations,
                                            p->totals.peak_bytes, false, was_replaced(p),
                                            0, 0, p->error_count,
                                            p->meta.end == PROFILE_END_SIGNAL ||
                                                    (scan && scan->when == PROFILE_SCAN_SIGNAL),
                                            false };
        plain_name(r->rows[row].program);
        if (!is_main) {
                if (!offer(r, p, row))
                        note_lost(r, row, p);
                return;
        }
        if (r->main.filled && offer(r, &r->main.profile, r->main.row))
                r->main.filled = false;
        fill(r, &r->main, p, row);
}

void roster_rename(struct roster *r, const char *from, const char *to)
{
        for (uint32_t i = 0; i < r->count; i++)
                if (strcmp(r->rows[i].path, from) == 0) {
                        free(r->rows[i].path);
                        r->rows[i].path = heap_text(to);
                }
}

/* NULL: there is none. */
static const struct roster_entry *chosen(const struct roster *r)
{
        bool idle = allocations(&r->main) * ROSTER_IDLE_PART < allocations(&r->busiest) &&
                    peak(&r->main) < peak(&r->busiest) * ROSTER_IDLE_PART;

        if (r->main.filled && !idle)
                return &r->main;
        return r->busiest.filled ? &r->busiest : NULL;
}

/* Of the one that was chosen the summary tells it. */
static void note_others(struct roster *r)
{
        const struct roster_entry *e = chosen(r);
        struct roster_entry *each[] = { &r->main, &r->busiest };

        for (uint32_t i = 0; i < 2; i++)
                if (each[i] != e && each[i]->filled && !each[i]->noted) {
                        note_lost(r, each[i]->row, &each[i]->profile);
                        each[i]->noted = true;
                }
}

bool roster_choose(const struct roster *r, struct roster_choice *choice)
{
        const struct roster_entry *e = chosen(r);

        if (e)
                *choice = (struct roster_choice){ &e->profile, r->rows[e->row].path };
        return e != NULL;
}

void roster_explain(const struct roster *r, const char *program, struct str *out)
{
        const struct roster_entry *e = chosen(r);
        struct str line = { 0 };

        if (!e || e == &r->main)
                return;
        str_format(&line, "most of the work was done by pid %" PRIu32 ", not by %s itself",
                   r->rows[e->row].pid, program);
        if (r->main.filled) {
                str_text(&line, " (");
                text_number(&line, (int64_t)allocations(&r->main));
                str_text(&line, allocations(&r->main) == 1 ? " allocation)" : " allocations)");
        }
        message_line(str_get(&line), line.length, out);
        str_free(&line);
}

/* What went wrong first, then what lost memory, then by peak. */
static int by_interest(const void *a, const void *b)
{
        const struct roster_row *x = *(const struct roster_row *const *)a,
                                *y = *(const struct roster_row *const *)b;

        return ORDER(y->errors || y->killed, x->errors || x->killed) ?:
               ORDER(y->lost_bytes, x->lost_bytes) ?:
               ORDER(y->peak_bytes, x->peak_bytes) ?: ORDER(x, y);
}

static void list_row(const struct roster_row *row, struct str *out)
{
        struct str line = { 0 };

        str_format(&line, "also %s (pid %" PRIu32 "): peak ", row->program, row->pid);
        text_size(&line, (int64_t)row->peak_bytes);
        str_text(&line, ", ");
        text_number(&line, (int64_t)row->allocations);
        str_text(&line, row->allocations == 1 ? " allocation, " : " allocations, ");
        if (row->lost_blocks) {
                str_text(&line, "LOST ");
                text_size(&line, (int64_t)row->lost_bytes);
                str_text(&line, " in ");
                text_count(&line, (int64_t)row->lost_blocks, "block");
                str_text(&line, ", ");
        }
        if (row->errors) {
                text_count(&line, (int64_t)row->errors, "INVALID FREE");
                str_text(&line, ", ");
        }
        str_text(&line, row->killed ? "ended by a signal, " : "");
        str_format(&line, "in %s", row->path);
        message_line(str_get(&line), line.length, out);
        str_free(&line);
}

/* Short-lived helpers of scripts are many: those with nothing to tell are worth a number. */
static bool is_small(const struct roster_row *row, const struct roster_entry *main)
{
        return main && !row->lost_blocks && !row->errors && !row->killed && !row->snapshots &&
               row->peak_bytes < main->profile.totals.peak_bytes / ROSTER_SMALL_PART;
}

void roster_drop(struct roster *r, void (*remove)(void *context, const char *path), void *context)
{
        const struct roster_entry *e = chosen(r);

        note_others(r);
        for (uint32_t i = 0; i < r->count; i++) {
                struct roster_row *row = &r->rows[i];

                if (!e || i == e->row || (r->main.filled && i == r->main.row) || row->missing ||
                    !is_small(row, e))
                        continue;
                remove(context, row->path);
                row->counted = true;
        }
}

uint32_t roster_kept(const struct roster *r)
{
        uint32_t kept = 0;

        for (uint32_t i = 0; i < r->count; i++)
                kept += !r->rows[i].counted && !r->rows[i].missing;
        return kept;
}

void roster_list_folder(const struct roster *r, const char *folder, struct str *out)
{
        struct str line = { 0 };

        str_format(&line, "all %" PRIu32 " recordings together: seep report %s (leaks, html, check "
                          "and info take it, too)", roster_kept(r), folder);
        message_line(str_get(&line), line.length, out);
        str_free(&line);
}

void roster_list(struct roster *r, struct str *out)
{
        const struct roster_entry *e = chosen(r);
        const struct roster_row **others = heap_zero(r->count + 1, sizeof *others);
        uint32_t count = 0, small = 0, counted = 0;

        note_others(r);
        for (uint32_t i = 0; i < r->count; i++)
                if (e && i != e->row && is_small(&r->rows[i], e)) {
                        small++;
                        counted += r->rows[i].counted;
                } else if (!e || i != e->row) {
                        others[count++] = &r->rows[i];
                }
        qsort(others, count, sizeof *others, by_interest);
        for (uint32_t i = 0; i < count && i < ROSTER_LISTED_MAX; i++)
                list_row(others[i], out);
        if (count > ROSTER_LISTED_MAX)
                str_format(out, "seep: and %" PRIu32 " more; 'seep info FILE' describes each\n",
                           count - ROSTER_LISTED_MAX);
        if (small)
                str_format(out,
                           "seep: and %" PRIu32 " small process%s, each with less than 1 %% of "
                           "that peak%s\n", small, small == 1 ? "" : "es",
                           counted ? ", not kept (--keep-small keeps them)" : "");
        free(others);
}

/* ---- snapshots ---- */

static struct roster_reports *reports_of(const struct roster *r, uint32_t pid)
{
        for (uint32_t i = 0; i < r->reports_count; i++)
                if (r->reports[i].pid == pid)
                        return &r->reports[i];
        return NULL;
}

void roster_report(struct roster *r, uint32_t pid, const char *path)
{
        struct roster_reports *all = reports_of(r, pid);

        if (!all) {
                r->reports = heap_grow(r->reports, r->reports_count + 1, sizeof *r->reports);
                all = &r->reports[r->reports_count++];
                *all = (struct roster_reports){ .pid = pid, .first = heap_text(path) };
        }
        all->count++;
        free(all->last);
        all->last = heap_text(path);
}

static void list_snapshots(const struct roster_row *row, const struct roster_reports *reports,
                           struct str *out)
{
        struct str line = { 0 };

        str_format(&line, "%" PRIu32 " snapshot%s of %s (pid %" PRIu32 ")", row->snapshots,
                   row->snapshots == 1 ? "" : "s", row->program, row->pid);
        if (reports && reports->count == 1)
                str_format(&line, "; report in %s", reports->first);
        else if (reports)
                str_format(&line, "; %" PRIu32 " reports, %s to %s", reports->count, reports->first,
                           reports->last);
        message_line(str_get(&line), line.length, out);
        str_clear(&line);
        str_format(&line, "compare them with 'seep diff %s@1 %s@%" PRIu32 "'", row->path, row->path,
                   row->snapshots);
        if (row->snapshots > 1)
                message_line(str_get(&line), line.length, out);
        str_free(&line);
}

void roster_list_reports(const struct roster *r, struct str *out)
{
        uint32_t listed = 0;

        for (uint32_t i = 0; i < r->count && listed < ROSTER_LISTED_MAX; i++)
                if (r->rows[i].snapshots) {
                        list_snapshots(&r->rows[i], reports_of(r, r->rows[i].pid), out);
                        listed++;
                }
}
