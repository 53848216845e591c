/* SPDX-License-Identifier: MIT */
/*
 * table.c -- the lines of the table: columns of numbers, and the site in the rest of the line.
 *
 * Room:   outside.
 */
#include <string.h>

#include "report/brief.h"
#include "top/figure.h"
#include "top/screen_table.h"
#include "words/label.h"
#include "words/shorten.h"
#include "words/text.h"

enum { TABLE_SITE_LEAST = 24, TABLE_GAP = 1, TABLE_MARK_LEAST = 12, TABLE_WORD_ROOM = 34, TABLE_RATE_ROOM = 56 };

/* In the order of ROWS_COLUMNS; those that are dropped first when there is no room have the highest number. */
static const struct {
        const char *heading;
        int width;
        int drop;
} columns[ROWS_COLUMN_COUNT] = {
        [ROWS_BY_LIVE] = { "LIVE", 7, 0 },     [ROWS_BY_CHANGE] = { "", 8, 1 },      [ROWS_BY_BLOCKS] = { "BLOCKS", 8, 2 },
        [ROWS_BY_CALLS] = { "CALLS/s", 8, 3 }, [ROWS_BY_AGE] = { "AVG AGE", 8, 4 },
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

        for (const char *word = s->group == GROUP_STACK ? "site" : group_word(s->group); *word; word++)
                str_char(out, (char)(*word - 'a' + 'A'));
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
                        str_text(&name, !in->utf8 ? in->state->ascending ? "^" : "*" : in->state->ascending ? "▲" : "▼");
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

static void add_cell(const struct screen_input *in, const struct row *row, enum rows_column column, struct str *out)
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
                if (row->age_ms != PAST_UNKNOWN)
                        figure_age(out, row->age_ms);
        }
        if (!out->length)
                str_char(out, '-');
}

/* "^ grows 1.2 KiB/s" in what a site of ROOM columns can spare; at last "^" alone. */
static void add_growth(const struct screen_input *in, const struct row *row, size_t room, struct str *out)
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

static void add_site(const struct screen_input *in, const struct row *row, size_t room, struct str *out)
{
        const struct picture *c = in->picture;
        struct str name = { 0 };

        if (!row->name) {
                struct brief brief = { c->p, c->symbols, &name, 0, room, in->known };

                brief_stack(&brief, c->p->sites[row->site].node, 0);
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
