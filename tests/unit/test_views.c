/* SPDX-License-Identifier: MIT */
/* Every view over recordings with numbers no program would give: nothing may be read outside,
 * nothing may overflow. Says most under the sanitizers. */
#include "tap.h"

#include <stdlib.h>

#include "base/heap.h"
#include "export/report_json.h"
#include "query/errors.h"
#include "query/leaks.h"
#include "report/flat.h"
#include "report/group.h"
#include "report/source.h"
#include "report/summary.h"
#include "report/views.h"
#include "sample.h"

static const struct symbol_options no_files = { .no_cache = true, .no_debuginfod = true };

static void look_further(const struct selection *sel, struct symbols *s, struct str *out)
{
        struct err e = { 0 };

        modules_write(sel, 3, out);
        for (int whole = 0; whole < 2; whole++) {
                struct timeline_options options = { whole, whole ? 0 : 700000,
                                                    whole ? UINT64_MAX : 900000, whole ? 0 : 33,
                                                    0 };

                timeline_write(sel, s, &options, out);
                histogram_sizes(sel, &(struct histogram_options){ .whole = whole }, out);
                histogram_lifetimes(sel,
                                    &(struct histogram_options){ .whole = whole, .columns = 20 },
                                    out);
        }
        source_write(sel, s, "nowhere.c", &no_files, out, &e);
        is_equal(e.exit_code, ERR_EXIT_USAGE);
}

static void look(const struct selection *sel, struct symbols *s, struct str *out)
{
        report_json_write(sel, NULL, s, out);
        errors_write(sel, s, &(struct errors_options){ .limit = 3 }, out);
        for (int inverted = 0; inverted < 2; inverted++)
                tree_write(sel, s,
                           &(struct tree_options){ inverted, inverted, inverted ? 0 : 5, inverted,
                                                   inverted ? 60 : 0 },
                           out);
        for (int key = 0; key < SORT_KEY_COUNT; key++)
                flat_write(sel, s,
                           &(struct flat_options){ .key = (enum sort_key)key,
                                                   .growing_first = key & 2,
                                                   .limit = 4,
                                                   .color = key & 1 },
                           out);
        for (int kind = GROUP_FUNCTION; kind < GROUP_KIND_COUNT; kind++)
                group_write(sel, s,
                            &(struct group_options){ .kind = (enum group_kind)kind,
                                                     .threshold = 1,
                                                     .csv = kind & 1 },
                            out);
        if (!sel->parents)
                blocks_write(sel, s, &(struct blocks_options){ .limit = 5 }, out);
        look_further(sel, s, out);
}

static void look_at_each_cost(const struct profile *p, struct symbols *s, struct str *out)
{
        for (int cost = 0; cost < SELECT_COST_COUNT; cost++)
                for (int when = 0; when < 3; when++)
                        for (uint32_t depth = 0; depth < 3; depth++) {
                                struct wrappers wrappers = { 0 };
                                struct select_request request = {
                                        .cost = (enum select_cost)cost,
                                        .wrappers = cost & 1 ? &wrappers : NULL,
                                        .depth_merge = depth,
                                        .at = { when == 1 ? MOMENT_TIME : MOMENT_NONE, 0, 2000000 },
                                        .from = { when == 2 ? MOMENT_TIME : MOMENT_NONE, 0,
                                                  500000 },
                                        .to = { MOMENT_END, 0, UINT64_MAX }
                                };
                                struct err e = { 0 };
                                struct selection sel;

                                if (select_make(&sel, p, s, &request, &e))
                                        look(&sel, s, out);
                                else
                                        is_equal(e.exit_code, ERR_EXIT_USAGE);
                                select_free(&sel);
                                wrappers_free(&wrappers);
                        }
}

static void look_at_leaks(const struct profile *p, struct symbols *s, struct str *out)
{
        for (int way = 0; way < 4; way++) {
                struct wrappers wrappers = { 0 };
                struct suppressions rules = { 0 };
                struct select_request select = { .cost = SELECT_LIVE,
                                                 .wrappers = way & 1 ? &wrappers : NULL };
                struct leaks_request request = { .suppressions = &rules,
                                                 .only_new = way & 1,
                                                 .reachable = way & 2 };
                struct leaks_options options = { .show = ~0u,
                                                 .limit = 9,
                                                 .blocks = way & 2,
                                                 .verbose = true,
                                                 .suppressions = &rules };
                struct selection sel;
                struct leaks l;
                struct err e;

                is_true(select_make(&sel, p, s, &select, &e));
                leaks_usual_rules(&rules, p, way == 3, out);
                leaks_make(&l, &sel, s, &request);
                leaks_text(&l, s, &options, out);
                leaks_json(&l, s, &options, out);
                leaks_rules(&l, s, &options, way & 1 ? SUPPRESS_AS_LSAN : SUPPRESS_AS_VALGRIND,
                            out);
                leaks_free(&l);
                select_free(&sel);
                suppress_free(&rules);
                wrappers_free(&wrappers);
        }
}

TEST(any_valid_recording_can_be_shown)
{
        for (uint64_t seed = 1; seed <= 12; seed++) {
                struct str out = { 0 };
                struct profile p;
                struct symbols *s;

                sample_profile(&p, seed, seed < 6 ? 5 : 60);
                s = symbols_new(&p, &no_files);
                look_at_each_cost(&p, s, &out);
                look_at_leaks(&p, s, &out);
                summary_write(&p, s,
                              &(struct summary_options){ .file = "a b.seep",
                                                         .color = (int)(seed & 1) },
                              &out);
                threads_write(&p, &(struct threads_options){ .limit = 4, .csv = seed & 1 }, &out);
                is_true(out.length > 0 && strlen(out.data) == out.length);
                symbols_free(s);
                str_free(&out);
                profile_free(&p);
        }
}

TAP_MAIN(any_valid_recording_can_be_shown)
