/* SPDX-License-Identifier: MIT */
/* types_diff_text.c -- the difference of two heaps by type, as text. */
#include <inttypes.h>

#include "query/block_origin.h"
#include "query/diff.h"
#include "query/types_diff.h"
#include "report/views.h"
#include "words/text.h"

enum { TYPES_DIFF_SCREEN = 20 }; /* rows, unless asked for more */

static void signed_size(struct str *out, int64_t bytes)
{
        str_text(out, bytes > 0 ? "+" : "");
        text_size(out, bytes);
}

static void signed_number(struct str *out, int64_t number)
{
        str_text(out, number > 0 ? "+" : "");
        text_number(out, number);
}

static void write_cells(const struct types_sum *old, const struct types_sum *new, struct str *out)
{
        text_cell(out, 12, new->bytes - old->bytes, signed_size);
        text_cell(out, 12, new->blocks - old->blocks, signed_number);
        text_cell(out, 12, old->bytes, text_size);
        text_cell(out, 12, new->bytes, text_size);
        str_text(out, "  ");
}

static void write_row(const struct types_change *c, const struct types_diff_sides *sides,
                      const struct diff_options *o, struct str *out)
{
        const struct types *of = c->is_new ? sides->new : sides->old;
        size_t start;

        write_cells(&c->old, &c->new, out);
        text_color(out, o->color, c->name ? TEXT_CYAN : TEXT_YELLOW);
        start = out->length;
        str_text(out, c->name ? c->name : "unknown");
        text_plain(out, o->color);
        text_pad(out, start, 32);
        str_format(out, "  #%" PRIu32 " ", c->row->site);
        block_origin_write(of->sel->profile, c->row->place, 0, out);
        str_char(out, '\n');
}

void types_diff_text(const struct types_diff *d, const struct types_diff_sides *sides,
                     const struct diff_options *o, struct str *out)
{
        uint32_t limit = o->limit ? o->limit : TYPES_DIFF_SCREEN;

        str_format(out, "types, from %s to %s\n", o->names[0], o->names[1]);
        str_format(out, "%12s%12s%12s%12s  %s\n", "change", "blocks", "before", "after",
                   "type, and the place that has most of it");
        for (uint32_t i = 0; i < d->count && i < limit; i++)
                write_row(&d->rows[i], sides, o, out);
        if (d->count > limit)
                str_format(out, "%48s  %" PRIu32 " more (-n %" PRIu32 ")\n", "", d->count - limit,
                           d->count);
        write_cells(&sides->old->all, &sides->new->all, out);
        str_format(out, "all types; %" PRIu32 " did not change\n", d->same);
        str_text(out, "known: ");
        text_share(out, (double)sides->old->known.bytes, (double)sides->old->all.bytes);
        str_text(out, " of the bytes before, ");
        text_share(out, (double)sides->new->known.bytes, (double)sides->new->all.bytes);
        str_text(out, " after\n");
}
