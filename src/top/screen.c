/* SPDX-License-Identifier: MIT */
/*
 * screen.c -- a picture as lines of text.
 *
 *     lines  1   the program and its numbers
 *            2   the course of the heap, rates          from 6 lines on
 *            3   names of the columns                   from 4 lines on
 *            ..  rows, or a text in their place
 *            n   keys, a message, or what is typed      from 3 lines on
 */
#include "top/screen.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/plain.h"
#include "top/figure.h"
#include "words/label.h"
#include "words/text.h"

enum {
        SCREEN_WITH_COURSE = 6,
        SCREEN_WITH_HEADING = 4,
        SCREEN_WITH_STATUS = 3,
        SCREEN_NAME = 24,
        SCREEN_SPARK_MOST = 60,
        SCREEN_SPARK_LEAST = 8,
        SCREEN_HEAP = 5,
        SCREEN_ROWS_FOR_SCRIPTS = 10000, /* unless another number is asked for: a program can
                                          * have a million call stacks */
};

uint32_t screen_page(uint32_t lines)
{
        uint32_t fixed = 1u + (lines >= SCREEN_WITH_COURSE) + (lines >= SCREEN_WITH_HEADING) +
                         (lines >= SCREEN_WITH_STATUS);

        return lines > fixed ? lines - fixed : 0;
}

static struct screen_line *add_line(struct screen *s)
{
        s->lines = heap_grow(s->lines, s->count + 1, sizeof *s->lines);
        s->lines[s->count] = (struct screen_line){ 0 };
        return &s->lines[s->count++];
}

/* ---- the program ---- */

static void add_figure(struct str *out, const char *name, uint64_t bytes)
{
        str_format(out, "  %s ", name);
        figure_size(out, (int64_t)bytes, false);
}

/* SPARED: how many of engine and blocks, the least needed first, are left out. */
static void add_program(const struct screen_input *in, int spared, struct str *out)
{
        const struct picture *c = in->picture;
        struct str name = { 0 };

        text_name(&name, c->p->meta.program ? label_base(c->p->meta.program) : NULL);
        text_cut(&name, 0, SCREEN_NAME);
        str_format(out, "%s (%u)  ", str_get(&name), c->p->meta.pid);
        figure_clock(out, c->now->ms);
        if (!spared && c->p->meta.engine && *c->p->meta.engine) {
                str_text(out, "  ");
                text_name(out, c->p->meta.engine);
        }
        if (profile_is_sampled(c->p)) /* estimates: that must be seen */
                str_text(out, "  sampled");
        add_figure(out, "heap", c->now->sum.live_bytes);
        add_figure(out, "peak", c->peak_bytes);
        add_figure(out, "RSS", c->now->sum.rss_bytes);
        if (spared < 2) {
                str_text(out, "  ");
                figure_count(out, c->now->sum.live_blocks, SCREEN_HEAP);
                str_text(out, c->now->sum.live_blocks == 1 ? " block" : " blocks");
        }
        str_free(&name);
}

static void make_head(struct screen *s, const struct screen_input *in)
{
        struct screen_line *line = add_line(s);

        line->style = SCREEN_BOLD;
        for (int spared = 0; spared <= 2; spared++) {
                str_clear(&line->text);
                add_program(in, spared, &line->text);
                if (text_columns(&line->text, 0) <= in->columns)
                        return;
        }
}

/* ---- its course ---- */

static double per_second(uint64_t now, uint64_t before, uint64_t ms)
{
        return ms && now > before ? (double)(now - before) * 1000 / (double)ms : 0;
}

static void add_rates(const struct picture *c, struct str *out)
{
        uint64_t ms = c->last && c->now->ms > c->last->ms ? c->now->ms - c->last->ms : 0;

        if (!ms)
                return;
        figure_rate(out, per_second(c->now->sum.allocs, c->last->sum.allocs, ms));
        str_text(out, " alloc/s  ");
        figure_rate(out, per_second(c->now->sum.frees, c->last->sum.frees, ms));
        str_text(out, " free/s  ");
        figure_size(out,
                    (int64_t)((double)(int64_t)(c->now->sum.live_bytes - c->last->sum.live_bytes) *
                              1000 / (double)ms),
                    true);
        str_text(out, "/s");
}

static void make_course(struct screen *s, const struct screen_input *in)
{
        struct screen_line *line = add_line(s);
        struct str span = { 0 }, rates = { 0 };
        uint32_t used, width = SCREEN_SPARK_LEAST;

        spark_span(in, &span);
        add_rates(in->picture, &rates);
        used = (uint32_t)(span.length + (rates.length ? rates.length + 2 : 0));
        if (used + SCREEN_SPARK_LEAST > in->columns) {
                str_clear(&rates);
                used = (uint32_t)span.length;
        }
        if (in->columns > used + SCREEN_SPARK_LEAST)
                width = in->columns - used < SCREEN_SPARK_MOST ? in->columns - used
                                                               : SCREEN_SPARK_MOST;
        spark_write(in, width, &line->text);
        str_text(&line->text, str_get(&span));
        if (rates.length)
                str_format(&line->text, "  %s", str_get(&rates));
        str_free(&span);
        str_free(&rates);
}

/* ---- rows, or a text in their place ---- */

static void make_rows(struct screen *s, const struct screen_input *in, uint32_t page)
{
        const struct keys_state *k = in->state;
        uint32_t first = in->lines ? k->first : 0, end = in->rows->count;
        uint32_t limit = in->limit ? in->limit : in->lines ? end : SCREEN_ROWS_FOR_SCRIPTS;

        if (end > limit)
                end = limit;
        for (uint32_t i = first; i < end && (!in->lines || i < first + page); i++) {
                struct screen_line *line = add_line(s);

                table_row(in, i, line);
                if (in->lines && i == k->index) {
                        /* Not by colour alone; the first column is never that full. */
                        line->text.data[0] = '>';
                        line->style = SCREEN_CHOSEN;
                }
        }
        if (end < in->rows->count && !in->limit)
                str_format(&add_line(s)->text, "  ... %u more (-n N prints N)",
                           in->rows->count - end);
        if (!in->rows->count && (page || !in->lines)) {
                struct screen_line *line = add_line(s);

                line->style = SCREEN_DIM;
                str_text(&line->text, k->filter.length || k->thread.length
                                              ? "  nothing matches"
                                              : "  nothing is allocated");
        }
}

static void make_pane(struct screen *s, const struct screen_input *in, uint32_t page)
{
        const struct keys_pane *pane = &in->state->pane;
        const char *at = str_get(&pane->text);

        for (uint32_t i = 0; *at && i < pane->top + page; i++) {
                size_t length = strcspn(at, "\n"), skip = 0;

                if (i >= pane->top) {
                        struct str whole = { 0 };

                        str_bytes(&whole, at, length);
                        for (uint32_t left = pane->left; left && skip < length; left--)
                                do
                                        skip++;
                                while (skip < length && ((unsigned char)at[skip] & 0xc0) == 0x80);
                        text_name(&add_line(s)->text, str_get(&whole) + skip);
                        str_free(&whole);
                }
                at += length + (at[length] == '\n');
        }
}

/* ---- the last line ---- */

static size_t key_width(const struct keys_help *k)
{
        return strcspn(k->name, " ") + 1 + strlen(k->word) + 2;
}

/* As many as fit, and always the last two: help and the way out. */
static void add_keys(const struct screen_input *in, struct str *out)
{
        const struct keys_help *end = keys_help;
        size_t reserved;

        while (end->name)
                end++;
        reserved = key_width(end - 1) + key_width(end - 2);
        for (const struct keys_help *k = keys_help; k->name; k++) {
                if (!*k->word || !(k->when & in->state->when))
                        continue;
                if (k < end - 2 && text_columns(out, 0) + key_width(k) + reserved > in->columns)
                        continue;
                str_format(out, "%s%.*s %s", out->length ? "  " : "", (int)strcspn(k->name, " "),
                           k->name, k->word);
        }
}

static void make_status(struct screen *s, const struct screen_input *in)
{
        const struct keys_state *k = in->state;
        struct screen_line *line = add_line(s);

        if (k->prompt != KEYS_NO_PROMPT) {
                s->prompt = true;
                str_format(&line->text, "%s: %s",
                           k->prompt == KEYS_PROMPT_FILTER ? "functions (none: all)"
                                                           : "thread (none: all)",
                           str_get(&k->typed));
        } else if (k->message.length) {
                line->style = SCREEN_WARNING;
                text_name(&line->text, str_get(&k->message));
        } else if (in->ended) {
                line->style = SCREEN_WARNING;
                text_name(&line->text, in->ended);
        } else if (k->pane.open) {
                str_text(&line->text, "q back  Up Down PgUp PgDn Left Right move");
        } else {
                add_keys(in, &line->text);
        }
}

/* ---- all ---- */

/* Wide enough, and nothing that the terminal cannot show. */
static void fit(struct screen_line *line, const struct screen_input *in)
{
        struct str plain = { 0 };

        plain_output(&line->text, 0, false);
        if (plain_name(line->text.data)) /* a line is one */
                line->text.length = strlen(line->text.data);
        text_cut(&line->text, 0, in->columns);
        while (text_columns(&line->text, 0) > in->columns) /* too narrow for an ellipsis */
                line->text.data[--line->text.length] = 0;
        line->to = line->to < in->columns ? line->to : in->columns;
        if (in->utf8)
                return;
        for (const char *at = str_get(&line->text); *at; at++)
                if (!((unsigned char)*at & 0x80))
                        str_char(&plain, *at);
                else if (((unsigned char)*at & 0xc0) == 0xc0)
                        str_char(&plain, '?');
        str_free(&line->text);
        line->text = plain;
}

void screen_make(struct screen *s, const struct screen_input *in)
{
        uint32_t lines = in->lines ? in->lines : UINT32_MAX, page = screen_page(lines);
        bool pane = in->state->pane.open && in->lines;

        *s = (struct screen){ 0 };
        make_head(s, in);
        if (lines >= SCREEN_WITH_COURSE)
                make_course(s, in);
        if (lines >= SCREEN_WITH_HEADING && !pane)
                table_heading(in, add_line(s));
        else if (lines >= SCREEN_WITH_HEADING) {
                struct screen_line *line = add_line(s);

                line->style = SCREEN_HEADING;
                text_name(&line->text, in->state->pane.title);
                text_pad(&line->text, 0, in->columns);
        }
        if (pane)
                make_pane(s, in, page);
        else
                make_rows(s, in, page);
        while (in->lines && s->count + (lines >= SCREEN_WITH_STATUS) < lines)
                add_line(s);
        if (in->lines >= SCREEN_WITH_STATUS)
                make_status(s, in);
        for (uint32_t i = 0; i < s->count; i++)
                fit(&s->lines[i], in);
}

void screen_free(struct screen *s)
{
        for (uint32_t i = 0; i < s->count; i++)
                str_free(&s->lines[i].text);
        free(s->lines);
        *s = (struct screen){ 0 };
}

void screen_text(const struct screen *s, struct str *out)
{
        for (uint32_t i = 0; i < s->count; i++) {
                const char *text = str_get(&s->lines[i].text);
                size_t length = strlen(text);

                while (length && text[length - 1] == ' ')
                        length--;
                str_bytes(out, text, length);
                str_char(out, '\n');
        }
}
