/* SPDX-License-Identifier: MIT */
/* Moments, resources and differences of recordings with numbers no program would give: nothing may
 * be read outside, nothing may overflow.  Says most under the sanitizers. */
#include "tap.h"

#include <stdlib.h>

#include "base/heap.h"
#include "export/report_csv.h"
#include "export/report_json.h"
#include "query/diff.h"
#include "report/memlog.h"
#include "report/views.h"
#include "sample.h"

static const struct symbol_options no_files = { .no_cache = true, .no_debuginfod = true };

static struct moment moment_of(const struct profile *p, uint64_t *random)
{
        uint32_t type = (uint32_t)(sample_random(random) % (MOMENT_MARK + 1));
        uint32_t mark = p->mark_count ? (uint32_t)(sample_random(random) % p->mark_count) : 0;

        if (type == MOMENT_MARK && !p->mark_count)
                type = MOMENT_START;
        return (struct moment){ (enum moment_type)type, mark,
                                type == MOMENT_END ? UINT64_MAX : sample_random(random) % 4000000 };
}

/* A selection of any moment, or of any range. */
static bool choose(struct selection *sel, const struct profile *p, struct symbols *s,
                   uint64_t *random, bool resources)
{
        struct select_request request = { .cost = (enum select_cost)(sample_random(random) %
                                                                     SELECT_COST_COUNT),
                                          .depth_merge = (uint32_t)(sample_random(random) % 4),
                                          .resources = resources };
        struct err e = { 0 };

        if (sample_random(random) % 2) {
                request.at = moment_of(p, random);
        } else {
                request.from = moment_of(p, random);
                request.to = moment_of(p, random);
                request.to.type = request.to.type == MOMENT_NONE ? MOMENT_END : request.to.type;
        }
        if (select_make(sel, p, s, &request, &e))
                return true;
        is_equal(e.exit_code, ERR_EXIT_USAGE);
        select_free(sel);
        return false;
}

TEST(any_moment_of_any_recording_can_be_shown)
{
        uint64_t random = 1;
        uint32_t shown = 0;

        for (uint64_t seed = 1; seed <= 60; seed++) {
                struct str out = { 0 };
                struct selection sel, resources;
                struct profile p;
                struct symbols *s;

                sample_profile(&p, seed, seed < 20 ? 5 : 60);
                s = symbols_new(&p, &no_files);
                for (uint32_t from = 0; from < p.slice_count + 2; from++)
                        memlog_write(&p, s,
                                     &(struct memlog_range){
                                             from ? from - 1 : MEMLOG_START,
                                             (uint32_t)(sample_random(&random) % 9) },
                                     &out);
                for (int i = 0; i < 20; i++) {
                        if (!choose(&sel, &p, s, &random, false))
                                continue;
                        shown++;
                        memlog_selection(&sel, s, &(struct memlog_options){ .limit = i }, &out);
                        report_csv_write(&sel, s,
                                         &(struct flat_options){
                                                 .key = (enum sort_key)(i % SORT_KEY_COUNT) },
                                         &out);
                        if (choose(&resources, &p, s, &random, true)) {
                                resources_write(&resources, s, i, &out);
                                report_json_write(&sel, &resources, s, &out);
                                select_free(&resources);
                        }
                        select_free(&sel);
                }
                is_true(strlen(str_get(&out)) == out.length);
                symbols_free(s);
                str_free(&out);
                profile_free(&p);
        }
        is_true(shown > 300);
}

static void compare(const struct selection *const sel[MATCH_SIDES],
                    struct symbols *const s[MATCH_SIDES], struct str *out)
{
        struct diff_options options = { .names = { "old", "new" } };
        struct diff d;

        diff_make(&d, sel, s, SORT_LIVE_BYTES);
        diff_text(&d, &options, out);
        diff_memlog(&d, &options, out);
        diff_csv(&d, &options, out);
        diff_json(&d, &options, out);
        diff_free(&d);
}

TEST(any_two_recordings_can_be_compared)
{
        uint64_t random = 7;
        uint32_t compared = 0;

        for (uint64_t seed = 1; seed <= 60; seed++) {
                struct profile p[MATCH_SIDES];
                struct symbols *s[MATCH_SIDES];
                struct selection sel[MATCH_SIDES];
                struct str out = { 0 };

                for (int side = 0; side < MATCH_SIDES; side++) {
                        sample_profile(&p[side], seed + side * (seed & 1), 40);
                        s[side] = symbols_new(&p[side], &no_files);
                }
                for (int i = 0; i < 10; i++) {
                        bool good[MATCH_SIDES];

                        for (int side = 0; side < MATCH_SIDES; side++)
                                good[side] = choose(&sel[side], &p[side], s[side], &random, false);
                        compared += good[0] && good[1];
                        if (good[0] && good[1])
                                compare((const struct selection *[]){ &sel[0], &sel[1] }, s, &out);
                        for (int side = 0; side < MATCH_SIDES; side++)
                                if (good[side])
                                        select_free(&sel[side]);
                }
                is_true(strlen(str_get(&out)) == out.length);
                str_free(&out);
                for (int side = 0; side < MATCH_SIDES; side++) {
                        symbols_free(s[side]);
                        profile_free(&p[side]);
                }
        }
        is_true(compared > 100);
}

TEST(a_recording_compared_with_itself_did_not_change)
{
        for (uint64_t seed = 1; seed <= 40; seed++) {
                struct profile p;
                struct symbols *s;
                struct selection sel;
                struct diff d;
                struct err e = { 0 };

                sample_profile(&p, seed, 60);
                s = symbols_new(&p, &no_files);
                is_true(select_make(&sel, &p, s, &(struct select_request){ .cost = SELECT_LIVE },
                                    &e));
                diff_make(&d, (const struct selection *[]){ &sel, &sel },
                          (struct symbols *[]){ s, s }, SORT_ALLOCS);
                /* modules may be of one file */
                is_true(d.count <= sel.heap.count + sel.mapped.count);
                is_true(d.count || !(sel.heap.count + sel.mapped.count));
                for (uint32_t i = 0; i < d.count; i++)
                        is_true(diff_row_at(&d, i)->equal);
                diff_free(&d);
                select_free(&sel);
                symbols_free(s);
                profile_free(&p);
        }
}

TAP_MAIN(any_moment_of_any_recording_can_be_shown, any_two_recordings_can_be_compared,
         a_recording_compared_with_itself_did_not_change)
