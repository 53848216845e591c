/* SPDX-License-Identifier: MIT */
/*
 * diff_json.c -- what changed between two recordings, as JSON: the fields of `report --json` as
 * signed differences.
 */
#include "query/diff.h"

#include "base/json.h"
#include "export/frames.h"
#include "export/report_json.h"
#include "ledger/ledger.h"
#include "query/merge.h"

static void write_recording(const struct diff *d, enum match_side side, const char *name,
                            struct str *out)
{
        const struct profile_meta *m = &d->sel[side]->profile->meta;

        json_text_field(out, "{\"", "name", name);
        json_text_field(out, ", \"", "program", m->program);
        json_field(out, ", \"", "pid", m->pid);
        json_field(out, ", \"", "duration_ms", m->duration_ms);
        str_text(out, ", \"moment\": ");
        report_json_moment(d->sel[side], out);
        str_text(out, "},\n");
}

/* Files that were built anew: their functions were matched by name. */
static void write_rebuilt(const struct diff *d, struct str *out)
{
        const struct profile *p = d->sel[MATCH_NEW]->profile;
        bool first = true;
        uint32_t old;

        str_text(out, " \"rebuilt\": [");
        for (uint32_t i = 0; i < p->module_count; i++) {
                if (!match_rebuilt(&d->match, i, &old))
                        continue;
                str_text(out, first ? "" : ", ");
                first = false;
                json_text(out, p->modules[i].path);
        }
        str_text(out, "],\n");
}

/* Sums over the heap's stacks. */
static void write_totals(const struct diff *d, struct str *out)
{
        struct select_row sums = { 0 };

        for (uint32_t i = 0; i < d->count; i++)
                if (LEDGER_KIND_IS_HEAP(d->rows[i].kind)) {
                        struct select_row change = diff_numbers(d, &d->rows[i]);

                        merge_add(&sums, &change);
                }
        str_text(out, " \"totals\": {");
        report_json_known(out, "\"allocations\": ", d->known.calls, sums.allocs);
        report_json_known(out, ", \"frees\": ", d->known.calls, sums.frees);
        report_json_known(out, ", \"bytes_allocated\": ", d->known.calls, sums.alloc_bytes);
        report_json_known(out, ", \"live_blocks\": ", true, sums.live_blocks);
        report_json_known(out, ", \"live_bytes\": ", true, sums.live_bytes);
        report_json_known(out, ", \"peak_bytes\": ", d->known.peak, sums.peak_bytes);
        report_json_known(out, ", \"peak_blocks\": ", d->known.peak, sums.peak_blocks);
        report_json_known(out, ", \"temporary\": ", d->known.temporary, sums.temporary);
        str_text(out, "},\n");
}

static void write_leaks(const struct diff *d, struct str *out)
{
        struct leaks_sum sums[PROFILE_LEAK_COUNT];

        diff_leaks(d, sums);
        str_format(out, " \"leaks\": {\"scanned\": %s, ", d->searched ? "true" : "false");
        report_json_classes(d->known.end ? sums : NULL, out);
        str_text(out, "},\n");
}

static void write_site(const struct diff *d, const struct diff_row *row, struct frames *frames,
                       struct str *out)
{
        struct select_row change = diff_numbers(d, row);
        struct leaks_sum leaks[PROFILE_LEAK_COUNT];

        diff_row_leaks(d, row, leaks);
        json_field(out, "{\"", "id", row->site);
        str_format(out, ", \"of\": \"%s\", \"change\": \"%s\"",
                   row->shown == MATCH_NEW ? "new" : "old",
                   diff_change_word(diff_change_of(d, row)));
        report_json_site_numbers(&change, leaks, &d->known, out);
        str_text(out, ", \"kind\": ");
        json_text(out, profile_kind_name(d->sel[row->shown]->profile, row->kind));
        str_text(out, ", \"stack\": ");
        frames_stack(&frames[row->shown], d->sel[row->shown], row->from.node, out);
        if (frames_cut_off(d->sel[row->shown], row->from.node))
                str_text(out, ", \"truncated\": true");
        str_char(out, '}');
}

static void write_sites(const struct diff *d, struct frames *frames, uint32_t limit,
                        struct str *out)
{
        uint32_t count = 0;

        str_text(out, " \"sites\": [");
        for (uint32_t i = 0; i < d->count && (!limit || count < limit); i++) {
                const struct diff_row *row = diff_row_at(d, i);

                if (row->equal)
                        continue;
                str_text(out, count++ ? ",\n  " : "\n  ");
                write_site(d, row, frames, out);
                str_drain(out);
        }
        str_text(out, "],\n");
}

void diff_json(const struct diff *d, const struct diff_options *options, struct str *out)
{
        struct frames frames[MATCH_SIDES];

        for (int side = 0; side < MATCH_SIDES; side++)
                frames_start(&frames[side], d->sel[side], d->symbols[side]);
        /* One list: the old recording's frames follow the new one's. */
        for (uint32_t i = 0; i < d->count; i++) {
                const struct diff_row *row = diff_row_at(d, i);

                if (!row->equal && row->shown == MATCH_NEW)
                        frames_meet(&frames[MATCH_NEW], d->sel[MATCH_NEW], row->from.node);
        }
        frames[MATCH_OLD].next = frames[MATCH_NEW].next;
        str_text(out, "{\"seep\": 1,\n \"old\": ");
        write_recording(d, MATCH_OLD, options->names[MATCH_OLD], out);
        str_text(out, " \"new\": ");
        write_recording(d, MATCH_NEW, options->names[MATCH_NEW], out);
        write_rebuilt(d, out);
        write_totals(d, out);
        write_leaks(d, out);
        write_sites(d, frames, options->limit, out);
        str_text(out, " \"frames\": [");
        frames_list(&frames[MATCH_NEW], true, out);
        frames_list(&frames[MATCH_OLD], frames[MATCH_NEW].met_count == 0, out);
        str_text(out, "]}\n");
        for (int side = 0; side < MATCH_SIDES; side++)
                frames_free(&frames[side]);
}
