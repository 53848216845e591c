/* SPDX-License-Identifier: MIT */
#include "export/report_csv.h"

#include <stdlib.h>

#include "export/export.h"
#include "report/stack.h"
#include "words/csv.h"

static void csv_growth(const struct growth *g, struct str *out)
{
        csv_text(out, growth_word(g->class));
        csv_known(out, g->class != GROWTH_UNKNOWN, (uint64_t)(g->bytes_per_s + 0.5));
}

/* GROWTH: of the site, or NULL. */
static void csv_row(struct stack_writer *w, const struct select_row *row,
                    const struct growth *growth)
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

static void csv_part(struct stack_writer *w, const struct select_part *part,
                     const struct flat_options *options, const struct growth *growth)
{
        uint32_t count;
        const struct select_row **rows = flat_order(w->sel, part, options, growth, &count);

        for (uint32_t i = 0; i < count && (!options->limit || i < options->limit); i++) {
                if (i + STACK_AHEAD < count)
                        stack_expect(w, rows[i + STACK_AHEAD]->node);
                csv_row(w, rows[i], growth ? &growth[rows[i]->site] : NULL);
        }
        free(rows);
}

void report_csv_write(const struct selection *sel, struct symbols *s,
                      const struct flat_options *options, struct str *out)
{
        struct growth *growth = flat_judge(sel);
        struct stack_writer w;

        csv_names(out, "site,kind,live_bytes,live_blocks,peak_bytes,peak_blocks,alloc_bytes,allocs,"
                       "frees,temporary,"
                       "lifetime_ms,growth,growth_bytes_per_s,stack,moment");
        csv_start(&w, sel, s, out);
        csv_part(&w, &sel->heap, options, growth);
        csv_part(&w, &sel->mapped, options, growth);
        stack_end(&w);
        free(growth);
}

bool export_csv(const struct export_input *in, struct str *out, struct err *e)
{
        struct flat_options options = { .key = sort_key_of(in->sel->cost) };

        (void)e; /* nothing can fail */
        report_csv_write(in->sel, in->symbols, &options, out);
        return true;
}
