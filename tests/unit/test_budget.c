/* SPDX-License-Identifier: MIT */
/* test_budget.c -- what a process may take, and whether it did with that. */
#include "query/budget.h"

#include "forge_check.h"
#include "tap.h"
#include "wire/hello.h"

static struct budgets one(enum budget budget, uint64_t most, const char *typed)
{
        struct budgets b = { 0 };

        b.limits[budget] = (struct budget_limit){ true, most, typed };
        return b;
}

/* The first verdict in words: "kept ..." or "broken ...". */
static const char *judged(const struct profile *p, const struct budgets *b, struct baseline *known)
{
        static struct str out;
        struct findings f = { 0 };

        str_clear(&out);
        is_true(forge_check(&f, p, b, known));
        if (is_true(f.verdict_count > 0)) {
                str_text(&out, f.verdicts[0].kept ? "kept " : "broken ");
                budget_name(&f.verdicts[0], &out);
                str_text(&out, ": ");
                budget_say(&f.verdicts[0], &out);
                is_equal(f.verdicts[0].kept, budgets_broken(&f) == 0);
                findings_settle(&f);
                is_equal(f.verdicts[0].kept, findings_broken(&f) == 0);
        }
        findings_free(&f);
        return str_get(&out);
}

static void leaky(struct profile *p)
{
        forge_leaky(p);
        p->totals.peak_bytes = 3000;
        for (uint32_t i = 1; i < p->site_count; i++)
                p->sites[i].peak_bytes = i == FORGE_SITE_LOAD ? 2000 : 10;
}

TEST(a_limit_may_be_reached_and_not_passed)
{
        struct budgets at = one(BUDGET_PEAK, 3000, "3000"), below = one(BUDGET_PEAK, 2999, "2999");
        struct profile p;

        leaky(&p);
        is_text(judged(&p, &at, NULL),
                "kept --max-peak 3000: 2.9 KiB at the peak; most by load [l.c:7] (2.0 KiB)");
        is_text(judged(&p, &below, NULL),
                "broken --max-peak 2999: 2.9 KiB at the peak; most by load [l.c:7] (2.0 KiB)");
        profile_free(&p);
}

TEST(each_budget_measures_its_own_number)
{
        struct budgets live = one(BUDGET_LIVE, 999, "999"), allocs = one(BUDGET_ALLOCS, 15, "15"),
                       leaked = one(BUDGET_LEAKED, 599, "599"), leaks = one(BUDGET_LEAKS, 5, "5");
        struct profile p;

        leaky(&p);
        is_text(judged(&p, &live, NULL),
                "broken --max-live 999: 1000 B at the end; most by parse [a.c:10] (600 B)");
        is_text(judged(&p, &allocs, NULL),
                "broken --max-allocs 15: 16 allocations; most by parse [a.c:10] (6 allocations)");
        is_text(judged(&p, &leaked, NULL),
                "broken --max-leaked 599: 600 B lost; most by parse [a.c:10] (300 B)");
        is_text(judged(&p, &leaks, NULL), "broken --max-leaks 5: 6 blocks lost (600 B); most by "
                                          "parse [a.c:10] (3 blocks, 300 B)");
        leaked.limits[BUDGET_LEAKED].most = 600;
        leaks.limits[BUDGET_LEAKS].most = 6;
        has_text(judged(&p, &leaked, NULL), "kept --max-leaked 599: 600 B lost");
        has_text(judged(&p, &leaks, NULL), "kept --max-leaks 5: 6 blocks lost");
        profile_free(&p);
}

TEST(what_was_not_searched_is_not_free_of_leaks)
{
        struct budgets leaks = one(BUDGET_LEAKS, 1000000, "1000000"),
                       peak = one(BUDGET_PEAK, 3000, "3000");
        struct profile p;

        leaky(&p);
        p.scan_count = 0;
        p.meta.flags |= WIRE_F_LEAK_SCAN;
        p.meta.end = PROFILE_END_SIGNAL;
        p.meta.exit_signal = 9;
        has_text(judged(&p, &leaks, NULL), "broken --max-leaks 1000000: not searched for leaks: ");
        has_text(judged(&p, &leaks, NULL), "SIGKILL");
        has_text(judged(&p, &peak, NULL), "kept --max-peak");
        p.scan_count = 1;
        has_text(judged(&p, &leaks, NULL), "kept --max-leaks");
        p.scans[0].when = PROFILE_SCAN_API; /* the program asked once, and crashed later */
        has_text(judged(&p, &leaks, NULL), "broken --max-leaks 1000000: not searched for leaks "
                                           "when it ended, only by SEEP_LEAK_CHECK()");
        p.meta.end = PROFILE_END_UNKNOWN;
        has_text(judged(&p, &leaks, NULL), "kept --max-leaks");
        profile_free(&p);
}

TEST(a_recording_that_is_not_whole_keeps_no_budget)
{
        struct budgets peak = one(BUDGET_PEAK, UINT64_MAX, "16E");
        struct profile p;

        leaky(&p);
        p.truncated = true;
        is_text(judged(&p, &peak, NULL), "broken --max-peak 16E: the recording is cut short");
        p.truncated = false;
        p.meta.complete = 0;
        has_text(judged(&p, &peak, NULL), "broken --max-peak 16E: the recording is not complete");
        profile_free(&p);
}

TEST(wrong_releases_are_counted_each_time)
{
        struct budgets b = one(BUDGET_BAD_FREES, 4, "4");
        struct profile p;

        leaky(&p);
        forge_error(&p, LEDGER_ERROR_DOUBLE_FREE, 3);
        forge_error(&p, LEDGER_ERROR_UNKNOWN_FREE, 2);
        is_text(judged(&p, &b, NULL), "broken --max-bad-frees 4: 5 invalid frees; most by small "
                                      "[s.c:5] (3 invalid frees)");
        b.limits[BUDGET_BAD_FREES].most = 5;
        has_text(judged(&p, &b, NULL), "kept --max-bad-frees");
        profile_free(&p);
}

/* The list of them is bounded, their number is not. */
TEST(wrong_releases_beyond_the_list_count_too)
{
        struct budgets b = one(BUDGET_BAD_FREES, 0, NULL);
        struct profile p;

        leaky(&p);
        p.totals.unknown_frees = 7;
        is_text(judged(&p, &b, NULL), "broken --max-bad-frees 0: 7 invalid frees");
        profile_free(&p);
}

TEST(forbidden_functions_are_found_anywhere_in_a_stack)
{
        const char *load[] = { "^load$" }, *inner[] = { "^inner$" }, *none[] = { "^no_such$" },
                   *wrong[] = { "(" };
        struct budgets b = { .expressions = load,
                             .expression_count = 1,
                             .limits = { [BUDGET_NO_ALLOC] = { .set = true } } };
        struct profile p;

        leaky(&p);
        /* 600 and 100 by parse, 200 by load itself, 4096 by its mmap */
        is_text(judged(&p, &b, NULL), "broken --no-alloc-in '^load$': 10 allocations; most by "
                                      "parse [a.c:10] (6 allocations)");
        b.expressions = inner;
        is_text(judged(&p, &b, NULL),
                "broken --no-alloc-in '^inner$': 3 allocations; by inner [w.c:61]");
        b.expressions = none;
        is_text(judged(&p, &b, NULL), "kept --no-alloc-in '^no_such$': 0 allocations");
        b.expressions = wrong;
        has_text(judged(&p, &b, NULL), "broken --no-alloc-in '(': not a regular expression");
        profile_free(&p);
}

TEST(without_stacks_nothing_is_known_to_be_elsewhere)
{
        const char *load[] = { "^load$" };
        struct budgets b = { .expressions = load,
                             .expression_count = 1,
                             .limits = { [BUDGET_NO_ALLOC] = { .set = true } } };
        struct findings f = { 0 };
        struct profile p;

        leaky(&p);
        p.nodes[p.sites[FORGE_SITE_TINY].node].parent = 1; /* its callers are lost */
        forge_check(&f, &p, &b, NULL);
        is_equal(f.verdicts[0].unseen, 1);
        p.meta.flags |= WIRE_F_NO_STACKS;
        is_text(judged(&p, &b, NULL),
                "broken --no-alloc-in '^load$': it was recorded without stacks (--depth 0)");
        findings_free(&f);
        profile_free(&p);
}

TEST(each_process_is_judged_by_itself)
{
        struct budgets b = one(BUDGET_LEAKS, 6, "6");
        struct findings f = { 0 };
        struct profile clean, lossy;

        leaky(&lossy);
        forge_usual(&clean);
        forge_scan(&clean, 1, PROFILE_SCAN_EXIT, 0);
        forge_check(&f, &lossy, &b, NULL);
        forge_check(&f, &clean, &b, NULL);
        forge_check(&f, &lossy, &b, NULL);
        is_equal(budgets_broken(&f), 0); /* 12 in all, 6 in each */
        b.limits[BUDGET_LEAKS].most = 5;
        forge_check(&f, &lossy, &b, NULL);
        is_equal(budgets_broken(&f), 1);
        is_equal(f.verdicts[3].process, 3);
        findings_free(&f);
        profile_free(&lossy);
        profile_free(&clean);
}

TAP_MAIN(a_limit_may_be_reached_and_not_passed, each_budget_measures_its_own_number,
         what_was_not_searched_is_not_free_of_leaks, a_recording_that_is_not_whole_keeps_no_budget,
         wrong_releases_are_counted_each_time, wrong_releases_beyond_the_list_count_too,
         forbidden_functions_are_found_anywhere_in_a_stack,
         without_stacks_nothing_is_known_to_be_elsewhere, each_process_is_judged_by_itself)
