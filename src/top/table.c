/* SPDX-License-Identifier: MIT */
/* table.c -- the lines of the table: columns of numbers, and the site in the rest of the line. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "report/stack_line.h"
#include "top/figure.h"
#include "top/screen.h"
#include "words/shorten.h"
#include "words/text.h"

/* ---- the course of the heap in one line ----
 *
 * Keeps:  a column shows the most of its stretch of time, from zero to the most of all.
 */

#define SPARK_SPAN_MS 300000u /* of a running process */

enum { SPARK_LEVELS = 8 };

static const char *const spark_blocks[SPARK_LEVELS] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
static const char spark_letters[SPARK_LEVELS + 1] = "_.:-=+*#";

struct spark {
        uint64_t from_ms, to_ms;
        uint64_t *most; /* by column */
        uint32_t width;
};

static void take(struct spark *k, const struct profile_slice *slice, uint64_t until_ms)
{
        double scale = (double)k->width / (double)(k->to_ms - k->from_ms);
        uint32_t first, last;

        if (until_ms < k->from_ms || slice->ms > k->to_ms)
                return;
        first = slice->ms > k->from_ms ? (uint32_t)((double)(slice->ms - k->from_ms) * scale) : 0;
        last = (uint32_t)((double)(until_ms - k->from_ms) * scale);
        for (uint32_t i = first; i <= last && i < k->width; i++)
                if (slice->live_bytes > k->most[i])
                        k->most[i] = slice->live_bytes;
}

/* A slice holds until the next one. */
static uint64_t measure(struct spark *k, const struct picture *c)
{
        uint64_t top = 0;

        for (uint32_t i = 0; i < c->slices; i++)
                take(k, &c->p->slices[i], i + 1 < c->slices ? c->p->slices[i + 1].ms : c->now->ms);
        take(k, &c->now->sum, c->now->ms);
        for (uint32_t i = 0; i < k->width; i++)
                top = k->most[i] > top ? k->most[i] : top;
        return top;
}

static void draw(const struct spark *k, uint64_t top, const struct screen_input *in,
                 struct str *out)
{
        uint32_t reached = (uint32_t)((double)(in->picture->now->ms - k->from_ms) /
                                      (double)(k->to_ms - k->from_ms) * k->width);

        for (uint32_t i = 0; i < k->width; i++) {
                uint64_t level = top ? (uint64_t)((double)k->most[i] / (double)top * SPARK_LEVELS)
                                     : 0;

                level = level < SPARK_LEVELS ? level : SPARK_LEVELS - 1;
                if (i > reached)
                        str_char(out, ' ');
                else if (in->utf8)
                        str_text(out, spark_blocks[level]);
                else
                        str_char(out, spark_letters[level]);
        }
}

/* A running process is shown for a while, a recording as a whole: what is not
 * reached yet stays empty. */
static struct spark span_of(const struct screen_input *in)
{
        uint64_t now = in->picture->now->ms ? in->picture->now->ms : 1,
                 end = in->picture->p->meta.duration_ms;

        if (in->state->when == KEYS_LIVE)
                return (struct spark){ .from_ms = now > SPARK_SPAN_MS ? now - SPARK_SPAN_MS : 0,
                                       .to_ms = now };
        return (struct spark){ .to_ms = end > now ? end : now };
}

void spark_write(const struct screen_input *in, uint32_t width, struct str *out)
{
        struct spark k = span_of(in);

        k.width = width;
        k.most = heap_zero(width, sizeof *k.most);
        draw(&k, measure(&k, in->picture), in, out);
        free(k.most);
}

void spark_span(const struct screen_input *in, struct str *out)
{
        struct spark k = span_of(in);

        if (in->state->when == KEYS_LIVE) {
                str_text(out, k.from_ms ? " heap, last 5 min" : " heap, all ");
                if (!k.from_ms)
                        text_time(out, k.to_ms);
                return;
        }
        str_text(out, " heap, at ");
        text_time(out, in->picture->now->ms);
        str_text(out, " of ");
        text_time(out, k.to_ms);
}

/* ---- the lines of the table: columns of numbers, and the site in the rest of the line ---- */

enum { TABLE_SITE_LEAST = 24, TABLE_NUMBER_ROOM = 40, TABLE_GAP = 1, TABLE_MARK_LEAST = 12,
       TABLE_WORD_ROOM = 34, TABLE_RATE_ROOM = 56 };

/* In the order of ROWS_COLUMNS; those that are dropped first when there is no room
 * have the highest number. */
static const struct {
        const char *heading;
        int width;
        int drop;
} columns[ROWS_COLUMN_COUNT] = {
        [ROWS_BY_LIVE] = { "LIVE", 7, 0 },     [ROWS_BY_CHANGE] = { "", 8, 1 },
        [ROWS_BY_BLOCKS] = { "BLOCKS", 8, 2 }, [ROWS_BY_CALLS] = { "CALLS/s", 8, 3 },
        [ROWS_BY_AGE] = { "AVG AGE", 8, 4 },
};

/* The last column that is still shown when columns are dropped until the site has room. */
static int columns_shown(uint32_t width)
{
        int shown = ROWS_COLUMN_COUNT, used = 0;

        for (int i = 0; i < ROWS_COLUMN_COUNT; i++)
                used += columns[i].width + TABLE_GAP;
        while (shown > 1 && used + TABLE_SITE_LEAST > (int)width)
                used -= columns[--shown].width + TABLE_GAP;
        return shown;
}

static void add_right(struct str *out, int width, const char *text)
{
        struct str cell = { 0 };
        size_t used;

        str_text(&cell, text);
        used = text_columns(&cell, 0);
        for (; used < (size_t)width; used++)
                str_char(out, ' ');
        str_text(out, text);
        str_free(&cell);
}

static void add_note(const struct screen_input *in, struct str *out)
{
        const struct keys_state *s = in->state;

        for (const char *word = s->group == GROUP_STACK ? "site" : group_word(s->group); *word;
             word++)
                str_char(out, (char)(*word - 'a' + 'A'));
        if (s->memory == SELECT_MMAP || s->memory == SELECT_BOTH)
                str_text(out, s->memory == SELECT_MMAP ? "  of mmap" : "  of heap and mmap");
        if (s->filter.length) {
                str_text(out, "  /");
                text_name(out, str_get(&s->filter));
                str_char(out, '/');
        }
        if (s->thread.length) {
                str_text(out, "  thread ");
                text_name(out, str_get(&s->thread));
        }
        if (s->paused)
                str_text(out, "  PAUSED");
        if (s->playing)
                str_format(out, "  x%g", s->speed);
}

void table_heading(const struct screen_input *in, struct screen_line *line)
{
        int shown = columns_shown(in->columns);
        struct str name = { 0 };

        line->style = SCREEN_HEADING;
        for (int i = 0; i < shown; i++) {
                bool sorted = (int)in->state->sort == i;

                str_clear(&name);
                if (sorted)
                        str_text(&name, !in->utf8              ? in->state->ascending ? "^" : "*"
                                        : in->state->ascending ? "▲"
                                                               : "▼");
                if (i == ROWS_BY_CHANGE)
                        str_format(&name, "%s%s", in->utf8 ? "±" : "+-", in->picture->since);
                else
                        str_text(&name, columns[i].heading);
                text_cut(&name, 0, (size_t)columns[i].width);
                if (sorted)
                        line->from = (uint32_t)text_columns(&line->text, 0);
                add_right(&line->text, columns[i].width, str_get(&name));
                if (sorted) {
                        line->to = (uint32_t)text_columns(&line->text, 0);
                        line->part = SCREEN_BOLD;
                }
                str_char(&line->text, ' ');
        }
        str_char(&line->text, ' ');
        add_note(in, &line->text);
        str_free(&name);
}

static void add_cell(const struct screen_input *in, const struct row *row, enum rows_column column,
                     struct str *out)
{
        switch (column) {
        case ROWS_BY_LIVE:
                figure_size(out, (int64_t)row->live_bytes, false);
                break;
        case ROWS_BY_CHANGE:
                if (in->rows->has_change)
                        figure_size(out, row->change_bytes, true);
                break;
        case ROWS_BY_BLOCKS:
                figure_count(out, row->live_blocks, columns[ROWS_BY_BLOCKS].width);
                break;
        case ROWS_BY_CALLS:
                if (in->rows->has_rates)
                        figure_rate(out, row->calls_per_s);
                break;
        default:
                if (row->age_ms != HISTORY_UNKNOWN)
                        figure_age(out, row->age_ms);
        }
        if (!out->length)
                str_char(out, '-');
}

/* "^ grows 1.2 KiB/s" in what a site of ROOM columns can spare; at last "^" alone. */
static void add_growth(const struct screen_input *in, const struct row *row, size_t room,
                       struct str *out)
{
        if (row->growth.class != GROWTH_GROWS || room < TABLE_MARK_LEAST)
                return;
        str_text(out, in->utf8 ? "  ▲" : "  ^");
        if (room >= TABLE_RATE_ROOM) {
                str_char(out, ' ');
                growth_write(&row->growth, out);
        } else if (room >= TABLE_WORD_ROOM) {
                str_format(out, " %s", growth_word(row->growth.class));
        }
}

/* The end of a path tells more than its beginning. */
static void add_path(const char *path, size_t room, struct str *out)
{
        struct str name = { 0 };
        const char *end;

        text_name(&name, path);
        end = str_get(&name);
        if (name.length > room && room > 3) {
                end += name.length - (room - 3);
                while (((unsigned char)*end & 0xc0) == 0x80)
                        end++;
                str_text(out, "...");
        }
        str_text(out, end);
        str_free(&name);
}

static void add_site(const struct screen_input *in, const struct row *row, size_t room,
                     struct str *out)
{
        const struct picture *c = in->picture;
        struct str name = { 0 };

        if (!row->name) {
                struct stack_line stack_line = { .profile = c->p, .symbols = c->symbols,
                                                 .out = &name, .columns = room,
                                                 .known = in->known,
                                                 .whole = in->state->all_frames };

                if (room >= TABLE_NUMBER_ROOM)
                        str_format(&name, "#%" PRIu32 " ", row->site);
                stack_line_stack(&stack_line, c->p->sites[row->site].node, 0);
        } else if (in->state->group == GROUP_FUNCTION) {
                str_text(&name, row->name);
                shorten_name(&name, room);
        } else {
                add_path(row->name, room, &name);
        }
        text_name(out, str_get(&name));
        str_free(&name);
}

void table_row(const struct screen_input *in, uint32_t index, struct screen_line *line)
{
        const struct row *row = &in->rows->all[index];
        int shown = columns_shown(in->columns);
        struct str cell = { 0 }, growth = { 0 };
        size_t used, room;

        for (int i = 0; i < shown; i++) {
                str_clear(&cell);
                add_cell(in, row, (enum rows_column)i, &cell);
                add_right(&line->text, columns[i].width, str_get(&cell));
                str_char(&line->text, ' ');
        }
        str_char(&line->text, ' ');
        used = text_columns(&line->text, 0);
        room = in->columns > used ? in->columns - used : 1;
        add_growth(in, row, room, &growth);
        room -= text_columns(&growth, 0);
        add_site(in, row, room, &line->text);
        text_cut(&line->text, 0, used + room);
        if (growth.length) {
                text_pad(&line->text, 0, used + room);
                line->from = (uint32_t)(used + room) + 2;
                str_text(&line->text, str_get(&growth));
                line->to = in->columns;
                line->part = SCREEN_WARNING;
        }
        str_free(&growth);
        str_free(&cell);
}
