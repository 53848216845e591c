/* SPDX-License-Identifier: MIT */
/* types_text.c -- the heap by type, as text. */
#include <inttypes.h>
#include <string.h>

#include "query/block_origin.h"
#include "query/types.h"
#include "report/views.h"
#include "words/text.h"

enum {
        TYPES_SCREEN = 20,   /* rows, unless asked for more */
        TYPES_SITES = 10,    /* the same of the call stacks of one type */
        TYPES_NAME = 32,     /* columns of a type's name where there is a place beside it */
        TYPES_PLACE = 20     /* columns that a place needs to be worth it */
};

struct types_view {
        const struct types *t;
        const struct types_options *o;
        struct symbols *s;
        struct str *out;
};

static void types_cells(const struct types_view *v, const struct types_sum *sum)
{
        struct str share = { 0 };

        text_share(&share, (double)(int64_t)sum->bytes, (double)(int64_t)v->t->all.bytes);
        str_format(v->out, "%7s", str_get(&share));
        str_free(&share);
        text_cell(v->out, 11, sum->bytes, text_size);
        text_cell(v->out, 12, sum->blocks, text_number);
        str_text(v->out, "  ");
}

static void types_head(const struct types_view *v)
{
        const struct types *t = v->t;

        str_format(v->out, "the heap by type, %s: ", t->sel->heading);
        text_size(v->out, (int64_t)t->all.bytes);
        str_text(v->out, " in ");
        text_count(v->out, (int64_t)t->all.blocks, "block");
        str_text(v->out, "; the type of ");
        text_share(v->out, (double)(int64_t)t->known.bytes, (double)(int64_t)t->all.bytes);
        str_text(v->out, " of the bytes is known\n");
        if (t->count)
                str_format(v->out, "%7s%11s%12s  %-10s%s\n", "share", "bytes", "blocks", "known by",
                           "type, and the place that has most of it");
}

/* "#12 node_new [list.c:20]", or with "+2" where other call stacks have some as well. */
static void types_place(const struct types_view *v, const struct types_row *row, size_t columns)
{
        size_t start = v->out->length;

        if (!row->name)
                str_text(v->out, "from ");
        str_format(v->out, "#%" PRIu32 " ", row->site);
        if (row->sites > 1)
                str_format(v->out, "(+%" PRIu32 ") ", row->sites - 1);
        block_origin_write(v->t->sel->profile, row->place,
                           columns ? columns - text_columns(v->out, start) : 0, v->out);
}

static void types_row(const struct types_view *v, const struct types_row *row)
{
        size_t start = v->out->length, used, name;

        types_cells(v, &row->sum);
        str_format(v->out, "%-10s", row->name ? types_way_word(types_row_way(row)) : "-");
        text_color(v->out, v->o->color, row->name ? TEXT_CYAN : TEXT_YELLOW);
        name = v->out->length;
        str_text(v->out, row->name ? row->name : "unknown");
        used = text_columns(v->out, start);
        if (v->o->columns > used + TYPES_PLACE || !v->o->columns) {
                text_pad(v->out, name, TYPES_NAME);
        } else {
                text_cut(v->out, start, v->o->columns - TYPES_PLACE - 2);
                used = text_columns(v->out, start);
        }
        text_plain(v->out, v->o->color);
        str_text(v->out, "  ");
        used = text_columns(v->out, start);
        types_place(v, row, v->o->columns > used + 12 ? v->o->columns - used : v->o->columns);
        str_char(v->out, '\n');
}

static void types_rest(const struct types_view *v, uint32_t shown)
{
        struct types_sum rest = { 0 };
        uint32_t left = v->t->count - shown;

        for (uint32_t i = shown; i < v->t->count; i++) {
                rest.bytes += v->t->rows[i].sum.bytes;
                rest.blocks += v->t->rows[i].sum.blocks;
        }
        if (!left)
                return;
        types_cells(v, &rest);
        str_format(v->out, "%" PRIu32 " more (-n %" PRIu32 ")\n", left, v->t->count);
}

/* What the words in the third column mean, of those that are there. */
static void types_legend(const struct types_view *v, uint32_t shown)
{
        bool met[TYPES_WAY_COUNT] = { false };

        for (uint32_t i = 0; i < shown; i++)
                met[v->t->rows[i].name ? types_row_way(&v->t->rows[i]) : TYPES_NONE] = true;
        for (int i = 1; i < TYPES_WAY_COUNT; i++)
                if (met[i])
                        str_format(v->out, "  %-9s %s\n", types_way_word((enum types_way)i),
                                   types_way_text((enum types_way)i));
}

static void types_list(const struct types_view *v)
{
        const struct types *t = v->t;
        uint32_t limit = v->o->limit ? v->o->limit : TYPES_SCREEN;
        uint32_t shown = limit < t->count ? limit : t->count, first = 0;

        for (uint32_t i = 0; i < shown; i++)
                types_row(v, &t->rows[i]);
        types_rest(v, shown);
        if (!shown)
                return;
        str_char(v->out, '\n');
        types_legend(v, shown);
        while (first < shown && !t->rows[first].name)
                first++;
        if (first < shown)
                str_format(v->out, "call stacks of a type: seep report --types='%s'\n",
                           t->rows[first].name);
        if (!t->blocks && t->sel->cost == SELECT_PEAK)
                str_text(v->out, "block by block, as far as the end has them: --at end\n");
}

/* ---- one type ---- */

/* The usual place of a site with its callers; or the function that a wrapper was called from. */
static void types_calls(const struct types_view *v, const struct types_part *part, size_t columns)
{
        const struct profile *p = v->t->sel->profile;

        if (block_origin_of(p, v->s, part->site).frame == part->place.frame)
                block_origin_calls(p, v->s, part->site, columns, v->out);
        else
                block_origin_write(p, part->place, columns, v->out);
}

static void types_sites(const struct types_view *v, uint32_t row)
{
        const struct types *t = v->t;
        uint32_t limit = v->o->limit ? v->o->limit : TYPES_SITES, shown = 0;

        for (uint32_t i = 0; i < t->part_count; i++) {
                size_t start = v->out->length, used;

                if (t->parts[i].row != row || shown++ >= limit)
                        continue;
                types_cells(v, &t->parts[i].sum);
                str_format(v->out, "  #%-6" PRIu32, t->parts[i].site);
                used = text_columns(v->out, start);
                types_calls(v, &t->parts[i],
                            v->o->columns > used ? v->o->columns - used : v->o->columns);
                str_char(v->out, '\n');
        }
        if (shown > limit)
                str_format(v->out, "%32s  %" PRIu32 " more call stacks (-n %" PRIu32 ")\n", "",
                           shown - limit, shown);
}

static void types_ways(const struct types_view *v, const struct types_row *row)
{
        bool first = true;

        if (!row->name)
                return;
        str_text(v->out, " (");
        if (row->size) {
                text_size(v->out, (int64_t)row->size);
                str_text(v->out, " each; ");
        }
        str_text(v->out, "known by ");
        for (int i = 1; i < TYPES_WAY_COUNT; i++)
                if (row->by[i].blocks) {
                        str_format(v->out, "%s%s", first ? "" : ", ",
                                   types_way_text((enum types_way)i));
                        first = false;
                }
        str_char(v->out, ')');
}

static bool types_named(const struct types_view *v, struct err *e)
{
        const struct types *t = v->t;
        uint32_t met = 0;

        for (uint32_t i = 0; i < t->count; i++) {
                const struct types_row *row = &t->rows[i];

                if (!strstr(row->name ? row->name : "unknown", v->o->wanted))
                        continue;
                met++;
                types_cells(v, &row->sum);
                text_color(v->out, v->o->color, TEXT_CYAN);
                str_text(v->out, row->name ? row->name : "unknown");
                text_plain(v->out, v->o->color);
                types_ways(v, row);
                str_char(v->out, '\n');
                types_sites(v, i);
        }
        if (met)
                return true;
        return err_set(e, ERR_EXIT_USAGE,
                       "no type has '%s' in its name; --types without a name lists all",
                       v->o->wanted);
}

bool types_write(const struct types *t, struct symbols *s, const struct types_options *o,
                 struct str *out, struct err *e)
{
        struct types_view v = { t, o, s, out };

        types_head(&v);
        if (o->wanted)
                return types_named(&v, e);
        types_list(&v);
        return true;
}
