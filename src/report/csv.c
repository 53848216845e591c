/* SPDX-License-Identifier: MIT */
/*
 * csv.c -- tables for programs: RFC 4180, with a line of names first.
 *
 * Room:   outside.
 */
#include "report/csv.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/plain.h"
#include "report/label.h"

/* What a spreadsheet would compute is text to it behind an apostrophe. */
static bool csv_computes(const char *text)
{
        return *text && strchr("=+-@\t\r", *text);
}

static bool csv_is_number(const char *text)
{
        char *end;

        strtod(text, &end);
        return end != text && !*end;
}

/* An apostrophe in front of what begins at byte START. */
static void csv_shield(struct str *out, size_t start)
{
        str_char(out, 0);
        memmove(out->data + start + 1, out->data + start, out->length - start - 1);
        out->data[start] = '\'';
}

/* Line breaks and tabs stay, as quotes are around them. */
void csv_text(struct str *out, const char *text)
{
        size_t start = out->length;
        bool quoted = text && strpbrk(text, ",\"\r\n");

        if (quoted)
                str_char(out, '"');
        if (text && csv_computes(text) && !csv_is_number(text))
                str_char(out, '\'');
        if (!quoted) {
                str_text(out, text ? text : "");
                plain_output(out, start, false);
                str_char(out, ',');
                return;
        }
        for (; *text; text++) {
                if (*text == '"')
                        str_char(out, '"');
                str_char(out, *text);
        }
        plain_output(out, start, false);
        str_text(out, "\",");
}

void csv_number(struct str *out, uint64_t value)
{
        json_number(out, value); /* digits are digits */
        str_char(out, ',');
}

void csv_signed(struct str *out, int64_t value)
{
        if (value < 0)
                str_char(out, '-');
        csv_number(out, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

/* Quotes are doubled as they come. */
static void csv_line(const struct stack_writer *w, uint32_t node, const struct symbol_frame *frame)
{
        size_t start = w->out->length;
        char *quote;

        label_frame(w->sel->profile, node, frame, w->out);
        plain_output(w->out, start, false);
        if (csv_computes(str_get(w->out) + start)) /* any frame may be the first of a cell */
                csv_shield(w->out, start);
        str_text(w->out, frame->inlined ? " (inlined);" : ";");
        quote = memchr(w->out->data + start, '"', w->out->length - start);
        if (quote) {
                struct str rest = { 0 };

                str_text(&rest, quote);
                w->out->length = (size_t)(quote - w->out->data);
                for (const char *c = str_get(&rest); *c; c++)
                        str_text(w->out, *c == '"' ? "\"\"" : (char[]){ *c, 0 });
                str_free(&rest);
        }
}

void csv_start(struct stack_writer *w, const struct selection *sel, struct symbols *s, struct str *out)
{
        stack_start(w, sel, s, "", out);
        w->line = csv_line;
        w->cut_off = "(cut off here: code without unwind tables);";
}

void csv_stack(struct stack_writer *w, struct wrapper_frame from)
{
        str_char(w->out, '"');
        stack_add(w, from);
        w->out->data[w->out->length - 1] = '"'; /* where the last separator was */
        str_char(w->out, ',');
}

/* The comma of the last field gives way. */
void csv_end(struct str *out)
{
        out->length--;
        str_text(out, "\r\n");
}

void csv_names(struct str *out, const char *names)
{
        str_text(out, names);
        str_text(out, "\r\n");
}

void csv_known(struct str *out, bool known, uint64_t value)
{
        if (known)
                csv_signed(out, (int64_t)value);
        else
                csv_text(out, NULL);
}

void csv_moment(struct str *out, const struct selection *sel)
{
        struct str word = { 0 };

        if (sel->moment == SELECT_OF_RANGE) {
                moment_word(sel->profile, &sel->from, &word);
                str_text(&word, "..");
                moment_word(sel->profile, &sel->to, &word);
        } else {
                moment_word(sel->profile, &sel->at, &word);
        }
        csv_text(out, str_get(&word));
        str_free(&word);
}

static void csv_growth(const struct growth *g, struct str *out)
{
        csv_text(out, growth_word(g->class));
        csv_known(out, g->class != GROWTH_UNKNOWN, (uint64_t)(g->bytes_per_s + 0.5));
}

/* GROWTH: of the site, or NULL. */
static void csv_row(struct stack_writer *w, const struct select_row *row, const struct growth *growth)
{
        const struct selection *sel = w->sel;
        struct str *out = w->out;
        const struct select_known known = select_known(sel);

        csv_number(out, row->site);
        csv_text(out, profile_kind_name(sel->profile, row->kind));
        csv_signed(out, (int64_t)row->live_bytes);
        csv_signed(out, (int64_t)row->live_blocks);
        csv_known(out, known.peak, row->peak_bytes);
        csv_known(out, known.peak, row->peak_blocks);
        csv_known(out, known.calls, row->alloc_bytes);
        csv_known(out, known.calls, row->allocs);
        csv_known(out, known.calls, row->frees);
        csv_known(out, known.temporary, row->temporary);
        csv_known(out, known.lifetimes, row->lifetime_ms);
        csv_growth(growth ? growth : &(struct growth){ 0 }, out);
        csv_stack(w, (struct wrapper_frame){ row->node, row->level });
        csv_moment(out, sel);
        csv_end(out);
        str_drain(out);
}

static void csv_part(struct stack_writer *w, const struct select_part *part, const struct flat_options *options, const struct growth *growth)
{
        uint32_t count;
        const struct select_row **rows = flat_order(w->sel, part, options, growth, &count);

        for (uint32_t i = 0; i < count && (!options->limit || i < options->limit); i++)
                csv_row(w, rows[i], growth ? &growth[rows[i]->site] : NULL);
        free(rows);
}

void csv_write(const struct selection *sel, struct symbols *s, const struct flat_options *options, struct str *out)
{
        struct growth *growth = flat_judge(sel);
        struct stack_writer w;

        csv_names(out, "site,kind,live_bytes,live_blocks,peak_bytes,peak_blocks,alloc_bytes,allocs,frees,temporary,"
                       "lifetime_ms,growth,growth_bytes_per_s,stack,moment");
        csv_start(&w, sel, s, out);
        csv_part(&w, &sel->heap, options, growth);
        csv_part(&w, &sel->mapped, options, growth);
        stack_end(&w);
        free(growth);
}
