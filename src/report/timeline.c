/* SPDX-License-Identifier: MIT */
/*
 * timeline.c -- live memory over time, drawn with characters.
 *
 * Keeps:  a column shows the most of its stretch of time, so that no summit is lost; where no slice
 *         was taken, what was live before.
 */
#include "report/views.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "report/rises.h"
#include "words/text.h"

enum {
        TIMELINE_COLUMNS = 80,
        TIMELINE_LEAST = 40,
        TIMELINE_AXIS = 12, /* columns left of the plot */
        TIMELINE_ROWS = 12,
        TIMELINE_RSS_ROWS = 5,
        TIMELINE_MARK_LINES = 3,
        TIMELINE_MARKS = 40, /* listed */
        TIMELINE_FINENESS = 3 /* heights that one character can show */
};

/* A value per slice, and the largest of them. */
struct curve {
        uint64_t *values;
        uint64_t peak, peak_ms;
};

struct timeline {
        const struct profile *p;
        const struct timeline_options *options;
        uint64_t from_ms, to_ms;
        uint32_t width;
        struct str *out;
};

static bool timeline_shows(const struct timeline *t, uint64_t ms)
{
        return ms >= t->from_ms && ms <= t->to_ms;
}

static uint32_t timeline_column(const struct timeline *t, uint64_t ms)
{
        uint64_t length = t->to_ms - t->from_ms;

        if (ms >= t->to_ms)
                return t->width - 1;
        return (uint32_t)((double)(ms - t->from_ms) / (double)length * t->width);
}

/* ---- curves ---- */

static void curve_peak(const struct timeline *t, struct curve *c)
{
        for (uint32_t i = 0; i < t->p->slice_count; i++)
                if (timeline_shows(t, t->p->slices[i].ms) && c->values[i] > c->peak) {
                        c->peak = c->values[i];
                        c->peak_ms = t->p->slices[i].ms;
                }
}

/* The whole heap; its peak is known better than the slices show it, which are read
 * while the program goes on. */
static void curve_of_heap(const struct timeline *t, struct curve *c)
{
        const struct profile_totals *totals = &t->p->totals;
        uint64_t ms = profile_peak_ms(t->p);

        for (uint32_t i = 0; i < t->p->slice_count; i++)
                c->values[i] = t->p->slices[i].live_bytes;
        curve_peak(t, c);
        if (timeline_shows(t, ms) && totals->peak_bytes) {
                c->peak = totals->peak_bytes;
                c->peak_ms = ms;
        }
}

static void curve_of_sites(const struct timeline *t, const struct selection *sel, struct curve *c)
{
        const struct profile *p = t->p;
        uint8_t *chosen = select_sites(sel, &sel->heap);
        uint64_t *live = heap_zero(p->site_count, sizeof *live), sum = 0;

        for (uint32_t i = 0; i < p->slice_count; i++) {
                for (uint32_t k = 0; k < p->slices[i].change_count; k++) {
                        const struct profile_change *change =
                                &p->changes[p->slices[i].change_first + k];

                        if (change->site >= p->site_count || !chosen[change->site])
                                continue;
                        sum += change->live_bytes - live[change->site];
                        live[change->site] = change->live_bytes;
                }
                c->values[i] = sum;
        }
        free(live);
        free(chosen);
        curve_peak(t, c);
}

/* ---- drawing ---- */

/* The most of each column. */
static uint64_t *plot_columns(const struct timeline *t, const struct curve *c)
{
        uint64_t *columns = heap_zero(t->width, sizeof *columns), before = 0;
        uint8_t *set = heap_zero(t->width, 1);

        for (uint32_t i = 0; i < t->p->slice_count; i++) {
                uint64_t ms = t->p->slices[i].ms;
                uint32_t at = ms < t->from_ms ? 0 : timeline_column(t, ms);

                if (ms > t->to_ms)
                        break;
                if (ms < t->from_ms ? true : c->values[i] > columns[at] || !set[at])
                        columns[at] = c->values[i];
                set[at] = 1;
        }
        if (timeline_shows(t, c->peak_ms)) {
                columns[timeline_column(t, c->peak_ms)] = c->peak;
                set[timeline_column(t, c->peak_ms)] = 1;
        }
        for (uint32_t i = 0; i < t->width; i++) {
                if (!set[i])
                        columns[i] = before;
                before = columns[i];
        }
        free(set);
        return columns;
}

static void plot_label(const struct timeline *t, uint64_t bytes, bool shown, char edge)
{
        struct str label = { 0 };

        if (shown)
                text_size(&label, (int64_t)bytes);
        str_format(t->out, "%*s %c", TIMELINE_AXIS - 2, str_get(&label), edge);
        str_free(&label);
}

/* Spaces at the end of a line are of no use to anybody. */
static void plot_end_line(const struct timeline *t)
{
        while (t->out->length && t->out->data[t->out->length - 1] == ' ')
                t->out->length--;
        str_char(t->out, '\n');
}

static void plot_row(const struct timeline *t, const uint64_t *columns, uint64_t peak,
                     uint32_t rows, uint32_t row)
{
        static const char levels[] = " .:#";
        bool labelled = row == rows - 1 || row == rows / 2 - 1;

        plot_label(t, peak / rows * (row + 1), labelled, '|');
        if (row == rows - 1) { /* exactly */
                t->out->length -= TIMELINE_AXIS;
                plot_label(t, peak, true, '|');
        }
        for (uint32_t i = 0; i < t->width; i++) {
                double height = (double)columns[i] / (double)peak * rows * TIMELINE_FINENESS;
                int above = (int)(height + 0.5) - (int)(row * TIMELINE_FINENESS);

                if (row == 0 && columns[i] && above < 1)
                        above = 1;
                str_char(t->out, levels[above < 0                   ? 0
                                        : above > TIMELINE_FINENESS ? TIMELINE_FINENESS
                                                                    : above]);
        }
        plot_end_line(t);
}

static void plot_axis(const struct timeline *t)
{
        struct str left = { 0 }, middle = { 0 }, right = { 0 };
        uint32_t half = t->width / 2;

        str_format(t->out, "%*s +", TIMELINE_AXIS - 2, "0 B");
        for (uint32_t i = 0; i < t->width; i++)
                str_char(t->out, i == half || i == t->width - 1 ? '+' : '-');
        str_char(t->out, '\n');
        text_time(&left, t->from_ms);
        text_time(&middle, t->from_ms + (t->to_ms - t->from_ms) / 2);
        text_time(&right, t->to_ms);
        str_format(t->out, "%*s%-*s%-*s%*s\n", TIMELINE_AXIS, "", (int)(half - middle.length / 2),
                   str_get(&left), (int)(t->width - half + middle.length / 2 - right.length),
                   str_get(&middle), (int)right.length, str_get(&right));
        str_free(&left);
        str_free(&middle);
        str_free(&right);
}

static void plot_heading(const struct timeline *t, const struct curve *c, const char *what)
{
        text_color(t->out, t->options->color, TEXT_BOLD);
        str_format(t->out, "%s: ", what);
        text_size(t->out, (int64_t)c->peak);
        text_plain(t->out, t->options->color);
        str_text(t->out, " at most, at ");
        text_time(t->out, c->peak_ms);
        for (uint32_t i = t->p->slice_count; i-- > 0;)
                if (timeline_shows(t, t->p->slices[i].ms)) {
                        str_text(t->out, "; ");
                        text_size(t->out, (int64_t)c->values[i]);
                        str_text(t->out, " at the end\n");
                        return;
                }
        str_char(t->out, '\n');
}

static void plot_draw(const struct timeline *t, const struct curve *c, const char *what,
                      uint32_t rows)
{
        uint64_t *columns = plot_columns(t, c);

        plot_heading(t, c, what);
        if (c->peak) {
                str_format(t->out, "%*s|%*sP\n", TIMELINE_AXIS - 1, "",
                           (int)timeline_column(t, c->peak_ms), "");
                for (uint32_t row = rows; row-- > 0;)
                        plot_row(t, columns, c->peak, rows, row);
                plot_axis(t);
        }
        free(columns);
}

/* ---- marks ---- */

static bool mark_is_shown(const struct timeline *t, const struct profile_mark *mark)
{
        return mark->slice < t->p->slice_count && timeline_shows(t, mark->ms) &&
               mark->type != LEDGER_MARK_ENABLE && mark->type != LEDGER_MARK_DISABLE;
}

/* Snapshots by their number, tags by letters. */
static void mark_sign(const struct profile_mark *mark, uint32_t *tags, char *sign, size_t size)
{
        if (mark->seq)
                snprintf(sign, size, "%" PRIu32, mark->seq);
        else
                snprintf(sign, size, "%c", "abcdefghijklmnopqrstuvwxyz"[(*tags)++ % 26]);
}

/* Put SIGN into the first of LINES that has room there. */
static void mark_place(char *const *lines, uint32_t width, uint32_t at, const char *sign)
{
        size_t length = strlen(sign);

        if (at + length > width)
                at = width - (uint32_t)length;
        for (int i = 0; i < TIMELINE_MARK_LINES; i++) {
                uint32_t from = at ? at - 1 : 0, k = from;

                while (k < at + length + 1 && lines[i][k] == ' ')
                        k++;
                if (k < at + length + 1 && lines[i][k])
                        continue;
                memcpy(lines[i] + at, sign, length);
                return;
        }
}

static void marks_below(const struct timeline *t)
{
        char *lines[TIMELINE_MARK_LINES], sign[16];
        uint32_t tags = 0;

        for (int i = 0; i < TIMELINE_MARK_LINES; i++) {
                lines[i] = heap_zero(t->width + 1, 1);
                memset(lines[i], ' ', t->width);
        }
        for (uint32_t i = 0; i < t->p->mark_count; i++)
                if (mark_is_shown(t, &t->p->marks[i])) {
                        mark_sign(&t->p->marks[i], &tags, sign, sizeof sign);
                        mark_place(lines, t->width, timeline_column(t, t->p->marks[i].ms), sign);
                }
        for (int i = 0; i < TIMELINE_MARK_LINES; i++) {
                if (strspn(lines[i], " ") < t->width) {
                        str_format(t->out, "%*s%s", TIMELINE_AXIS, "", lines[i]);
                        plot_end_line(t);
                }
                free(lines[i]);
        }
}

static void mark_line(const struct timeline *t, const struct profile_mark *mark, const char *sign,
                      const struct curve *heap)
{
        struct str time = { 0 }, size = { 0 };
        size_t start;

        text_time(&time, mark->ms);
        text_size(&size, (int64_t)heap->values[mark->slice]);
        str_format(t->out, "%*s  %-12s%12s  ", TIMELINE_AXIS - 2, sign, str_get(&time),
                   str_get(&size));
        start = t->out->length;
        str_format(t->out, "%s%s", mark->seq ? "snapshot" : "tag", mark->label[0] ? " " : "");
        text_name(t->out, mark->label);
        text_cut(t->out, start, t->width > 36 ? t->width - 26 : 10);
        str_char(t->out, '\n');
        str_free(&time);
        str_free(&size);
}

static void marks_list(const struct timeline *t, const struct curve *heap)
{
        uint32_t listed = 0, more = 0, tags = 0;
        char sign[16];

        for (uint32_t i = 0; i < t->p->mark_count; i++) {
                if (!mark_is_shown(t, &t->p->marks[i]))
                        continue;
                mark_sign(&t->p->marks[i], &tags, sign, sizeof sign);
                if (listed == TIMELINE_MARKS) {
                        more++;
                        continue;
                }
                if (!listed++)
                        str_char(t->out, '\n');
                mark_line(t, &t->p->marks[i], sign, heap);
        }
        if (more)
                str_format(t->out, "%*s  and %u more\n", TIMELINE_AXIS - 2, "", more);
}

/* ---- the view ---- */

static bool timeline_start(struct timeline *t)
{
        const struct profile *p = t->p;
        uint32_t columns = t->options->columns ? t->options->columns : TIMELINE_COLUMNS;

        if (!p->slice_count) {
                str_text(t->out,
                         "the recording has no time slices: the program ended too soon for a "
                         "timeline\n");
                return false;
        }
        t->width = (columns < TIMELINE_LEAST ? TIMELINE_LEAST : columns) - TIMELINE_AXIS - 1;
        t->from_ms = t->options->from_ms;
        t->to_ms = p->slices[p->slice_count - 1].ms;
        if (p->meta.duration_ms > t->to_ms)
                t->to_ms = p->meta.duration_ms;
        if (t->options->to_ms < t->to_ms)
                t->to_ms = t->options->to_ms;
        if (t->to_ms <= t->from_ms)
                t->to_ms = t->from_ms + 1;
        return true;
}

/* The rises of the part that is shown, with names. */
static void timeline_rises(const struct timeline *t, const struct selection *sel,
                           struct symbols *s, const struct curve *heap)
{
        uint32_t count = t->p->slice_count, first = 0, last = count;
        uint64_t *ms = heap_zero(count, sizeof *ms);

        for (uint32_t i = 0; i < count; i++)
                ms[i] = t->p->slices[i].ms;
        while (first < count && ms[first] < t->from_ms)
                first++;
        while (last > first && ms[last - 1] > t->to_ms)
                last--;
        if (last > first && t->p->change_count)
                rises_write(sel, s, &(struct rises_curve){ heap->values, ms, first, last - 1 },
                            t->width + TIMELINE_AXIS, t->out);
        free(ms);
}

void timeline_write(const struct selection *sel, struct symbols *s,
                    const struct timeline_options *options, struct str *out)
{
        struct timeline t = { .p = sel->profile, .options = options, .out = out };
        struct curve heap = { 0 }, rss = { 0 };

        if (!timeline_start(&t))
                return;
        heap.values = heap_zero(t.p->slice_count, sizeof *heap.values);
        rss.values = heap_zero(t.p->slice_count, sizeof *rss.values);
        if (options->whole)
                curve_of_heap(&t, &heap);
        else
                curve_of_sites(&t, sel, &heap);
        plot_draw(&t, &heap, options->whole ? "heap" : "heap of the chosen stacks", TIMELINE_ROWS);
        marks_below(&t);
        for (uint32_t i = 0; i < t.p->slice_count; i++)
                rss.values[i] = t.p->slices[i].rss_bytes;
        curve_peak(&t, &rss);
        if (options->whole && rss.peak) {
                str_char(out, '\n');
                plot_draw(&t, &rss, "RSS", TIMELINE_RSS_ROWS);
        }
        timeline_rises(&t, sel, s, &heap);
        marks_list(&t, &heap);
        free(heap.values);
        free(rss.values);
}
