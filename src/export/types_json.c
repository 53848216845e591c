/* SPDX-License-Identifier: MIT */
/* types_json.c -- the heap by type, as JSON.  Fields may be added, never renamed. */
#include "query/types.h"

#include "base/json.h"
#include "export/report_json.h"
#include "query/types_diff.h"

static void types_json_sum(const char *before, const char *name, const struct types_sum *sum,
                           struct str *out)
{
        str_format(out, "%s\"%s\": ", before, name);
        json_signed_field(out, "{\"", "blocks", sum->blocks);
        json_signed_field(out, ", \"", "bytes", sum->bytes);
        str_char(out, '}');
}

static void types_json_ways(const struct types_row *row, struct str *out)
{
        const char *before = "";

        str_text(out, ", \"known_by\": {");
        for (int i = 1; i < TYPES_WAY_COUNT; i++)
                if (row->by[i].blocks || row->by[i].bytes) {
                        types_json_sum(before, types_way_word((enum types_way)i), &row->by[i], out);
                        before = ", ";
                }
        str_char(out, '}');
}

static void types_json_part(const struct types_part *part, struct str *out)
{
        json_field(out, "{\"", "id", part->site);
        json_text_field(out, ", \"", "function", part->place.frame->function);
        json_place(out, part->place.frame->file, part->place.frame->line);
        json_signed_field(out, ", \"", "blocks", part->sum.blocks);
        json_signed_field(out, ", \"", "bytes", part->sum.bytes);
        str_char(out, '}');
}

void types_json(const struct types *t, struct str *out)
{
        uint32_t part = 0;

        json_text_field(out, "{\"seep\": 1, \"", "program", t->sel->profile->meta.program);
        json_field(out, ", \"", "pid", t->sel->profile->meta.pid);
        json_text_field(out, ", \"", "cost", select_cost_word(t->sel->cost));
        str_text(out, ", \"moment\": ");
        report_json_moment(t->sel, out);
        types_json_sum(",\n ", "total", &t->all, out);
        types_json_sum(", ", "known", &t->known, out);
        str_text(out, ",\n \"types\": [");
        for (uint32_t i = 0; i < t->count; i++) {
                const struct types_row *row = &t->rows[i];

                json_text_field(out, i ? ",\n  {\"" : "\n  {\"", "type", row->name);
                str_text(out, ", \"size\": ");
                if (row->size)
                        json_number(out, row->size);
                else
                        str_text(out, "null");
                json_signed_field(out, ", \"", "blocks", row->sum.blocks);
                json_signed_field(out, ", \"", "bytes", row->sum.bytes);
                types_json_ways(row, out);
                str_text(out, ", \"sites\": [");
                for (const char *before = ""; part < t->part_count && t->parts[part].row == i;
                     part++, before = ", ") {
                        str_text(out, before);
                        types_json_part(&t->parts[part], out);
                }
                str_text(out, "]}");
        }
        str_text(out, "]}\n");
}

/* As in types_json(), the fields are signed differences; before and after have the numbers. */
void types_diff_json(const struct types_diff *d, const struct types_diff_sides *sides,
                     struct str *out)
{
        struct types_sum all = { sides->new->all.bytes - sides->old->all.bytes,
                                 sides->new->all.blocks - sides->old->all.blocks };

        types_json_sum("{\"seep\": 1, ", "total", &all, out);
        types_json_sum(", ", "known_before", &sides->old->known, out);
        types_json_sum(", ", "known_after", &sides->new->known, out);
        str_text(out, ",\n \"types\": [");
        for (uint32_t i = 0; i < d->count; i++) {
                const struct types_change *c = &d->rows[i];

                json_text_field(out, i ? ",\n  {\"" : "\n  {\"", "type", c->name);
                json_signed_field(out, ", \"", "blocks", c->new.blocks - c->old.blocks);
                json_signed_field(out, ", \"", "bytes", c->new.bytes - c->old.bytes);
                types_json_sum(", ", "before", &c->old, out);
                types_json_sum(", ", "after", &c->new, out);
                str_char(out, '}');
        }
        str_text(out, "]}\n");
}
