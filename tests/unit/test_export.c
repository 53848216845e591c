/* SPDX-License-Identifier: MIT */
/* test_export.c -- every form of any recording: nothing crashes, and what cannot be told is said to
 * be so. */
#include "export/export.h"

#include <string.h>

#include "export/cost.h"
#include "sample.h"
#include "tap.h"

static const struct symbol_options no_files = { .sysroot = "/nonexistent",
                                                .no_debuginfod = true,
                                                .no_cache = true };

/* Some moment or range that P has, and some cost. */
static bool choose(struct selection *sel, const struct profile *p, struct symbols *s,
                   uint64_t *random)
{
        struct select_request request = { .cost = (enum select_cost)(sample_random(random) %
                                                                     SELECT_COST_COUNT),
                                          .depth_merge = sample_random(random) % 3 ? 0 : 2 };
        struct err e = { 0 };

        if (sample_random(random) % 3 == 0)
                request.at = (struct moment){ .type = MOMENT_PEAK };
        else if (sample_random(random) % 2 && p->slice_count)
                request.at = (struct moment){
                        .type = MOMENT_TIME,
                        .ms = p->slices[sample_random(random) % p->slice_count].ms
                };
        if (select_make(sel, p, s, &request, &e))
                return true;
        is_equal(e.exit_code, ERR_EXIT_USAGE);
        select_free(sel);
        return false;
}

static uint32_t write_all(struct export_input *in, uint64_t *random)
{
        uint32_t written = 0;

        for (const struct export_format *form = export_formats; form->word; form++) {
                struct str out = { 0 };
                struct err e = { 0 };

                in->cost_set = sample_random(random) % 2;
                in->cost = (enum cost_kind)(sample_random(random) % COST_COUNT);
                if (form->write(in, &out, &e)) {
                        written++;
                        is_true(out.length > 0 || strcmp(form->word, "collapsed") == 0);
                        is_true((form->flags & EXPORT_BINARY) ||
                                strlen(str_get(&out)) == out.length);
                } else {
                        is_true(e.exit_code && e.text[0]);
                }
                str_free(&out);
        }
        return written;
}

TEST(any_recording_can_be_written_in_every_form)
{
        uint64_t random = 1;
        uint32_t written = 0;

        for (uint64_t seed = 1; seed <= 40; seed++) {
                struct export_input in = { 0 };
                struct selection sel;
                struct profile p;

                sample_profile(&p, seed, seed < 20 ? 5 : 60);
                in.profile = &p;
                in.symbols = symbols_new(&p, &no_files);
                for (int i = 0; i < 6; i++) {
                        if (!choose(&sel, &p, in.symbols, &random))
                                continue;
                        in.sel = &sel;
                        written += write_all(&in, &random);
                        select_free(&sel);
                }
                symbols_free(in.symbols);
                profile_free(&p);
        }
        is_true(written > 500);
}

TEST(forms_and_costs_are_found_by_their_words)
{
        enum cost_kind cost;

        for (const struct export_format *form = export_formats; form->word; form++)
                is_true(export_find(form->word) == form);
        is_true(!export_find("nothing"));
        for (int i = 0; i < COST_COUNT; i++) {
                is_true(cost_named(cost_names[i].word, &cost) && (int)cost == i);
                is_true(cost_named(cost_names[i].other, &cost) && (int)cost == i);
        }
        is_true(!cost_named("nothing", &cost));
}

TAP_MAIN(any_recording_can_be_written_in_every_form, forms_and_costs_are_found_by_their_words)
