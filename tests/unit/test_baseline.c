/* SPDX-License-Identifier: MIT */
/* test_baseline.c -- leaks and wrong releases that were there before. */
#include "query/baseline.h"

#include "forge_check.h"
#include "tap.h"

static const char *written(const struct baseline *b)
{
        static struct str out;

        str_clear(&out);
        baseline_write(b, &out);
        return str_get(&out);
}

static void take(struct baseline *b, const struct profile *p)
{
        struct budgets budgets = forge_default();
        struct findings f = { 0 };

        forge_check(&f, p, &budgets, NULL);
        findings_settle(&f);
        baseline_take(b, &f);
        findings_free(&f);
}

TEST(one_sorted_line_for_each_place)
{
        struct baseline b = { 0 };
        struct profile p;
        const char *text;

        forge_leaky(&p);
        forge_error(&p, LEDGER_ERROR_MISMATCHED, 1);
        take(&b, &p);
        is_equal(b.count, 3); /* load, parse (two lines, two classes), the release */
        text = written(&b);
        is_true(strncmp(text, BASELINE_HEAD, strlen(BASELINE_HEAD)) == 0);
        has_text(text, " load < main\n");
        has_text(text, " parse < load < main\n");
        has_text(text, "\nmismatched-release ");
        is_true(strstr(text, " load < main\n") < strstr(text, " parse < load < main\n"));
        is_true(strstr(text, "tiny") == NULL); /* possibly lost */
        baseline_free(&b);
        profile_free(&p);
}

TEST(what_was_written_is_read_again)
{
        struct baseline b = { 0 }, again = { 0 };
        struct profile p;
        struct err e = { 0 };
        char *text;

        forge_leaky(&p);
        take(&b, &p);
        text = heap_text(written(&b));
        is_true(baseline_parse(&again, "known.txt", text, &e));
        is_text(written(&again), text);
        free(text);
        baseline_free(&b);
        baseline_free(&again);
        profile_free(&p);
}

TEST(what_is_known_does_not_count)
{
        struct budgets budgets = forge_default();
        struct findings f = { 0 };
        struct baseline b = { 0 };
        struct profile p;

        forge_leaky(&p);
        take(&b, &p);
        forge_check(&f, &p, &budgets, &b);
        baseline_tell_gone(&b, &f);
        is_equal(budgets_broken(&f), 0);
        is_equal(f.gone_count, 0);
        for (uint32_t i = 0; i < f.count; i++)
                is_true(f.all[i].state == FINDING_KNOWN || f.all[i].kind == FINDING_POSSIBLE);
        findings_free(&f);
        baseline_free(&b);
        profile_free(&p);
}

TEST(a_new_place_counts_and_one_that_is_gone_is_named)
{
        struct budgets budgets = forge_default();
        struct findings f = { 0 };
        struct baseline b = { 0 };
        struct profile before, now;
        struct err e = { 0 };

        forge_leaky(&before);
        forge_leaky(&now);
        take(&b, &before);
        is_true(baseline_parse(&b, "x", "leak 0000000000000001 gone < main\n", &e));
        for (uint32_t i = 0; i < now.block_count; i++) /* what tiny has is lost now */
                if (now.blocks[i].site == FORGE_SITE_TINY)
                        now.verdicts[i].leak = PROFILE_LEAK_DEFINITE;
        forge_check(&f, &now, &budgets, &b);
        baseline_tell_gone(&b, &f);
        is_equal(budgets_broken(&f), 1);
        is_equal(f.verdicts[0].measured, 1);
        if (is_equal(f.gone_count, 1))
                is_text(f.gone[0], "leak 0000000000000001 gone < main");
        findings_free(&f);
        baseline_free(&b);
        profile_free(&before);
        profile_free(&now);
}

TEST(a_leak_and_a_release_at_one_place_are_two_things)
{
        struct baseline b = { 0 };
        struct err e = { 0 };

        is_true(baseline_parse(&b, "x", "leak 00000000000000aa f < main\n", &e));
        is_true(baseline_knows(&b, FINDING_DEFINITE, 0xaa));
        is_true(baseline_knows(&b, FINDING_INDIRECT, 0xaa));
        is_true(!baseline_knows(&b, FINDING_DOUBLE_FREE, 0xaa));
        is_true(!baseline_knows(&b, FINDING_POSSIBLE, 0xaa));
        is_true(!baseline_knows(NULL, FINDING_DEFINITE, 0xaa));
        baseline_free(&b);
}

TEST(comments_and_line_ends_of_other_systems_are_fine)
{
        struct baseline b = { 0 };
        struct err e = { 0 };

        is_true(baseline_parse(&b, "x",
                               "# why\r\n\r\nleak 00000000000000aa f < main \r\n\n# "
                               "end\ndouble-free 00000000000000bb g",
                               &e));
        is_equal(b.count, 2);
        is_true(baseline_knows(&b, FINDING_DOUBLE_FREE, 0xbb));
        baseline_free(&b);
}

TEST(what_an_editor_did_to_the_first_line_does_not_matter)
{
        static const char *const heads[] = { "# seep baseline 1\n", "# seep baseline 1\r\n",
                                             "\xef\xbb\xbf# seep baseline 1\n" };
        struct err e = { 0 };

        for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
                struct baseline b = { 0 };
                struct str text = { 0 };

                str_format(&text, "%sleak 00000000000000aa f\n", heads[i]);
                is_true(baseline_is(str_get(&text)));
                is_true(baseline_parse(&b, "x", str_get(&text), &e));
                is_true(baseline_knows(&b, FINDING_DEFINITE, 0xaa));
                str_free(&text);
                baseline_free(&b);
        }
        is_true(!baseline_is("leak 00000000000000aa f\n") && !baseline_is(""));
}

TEST(a_later_version_is_refused)
{
        struct baseline b = { 0 };
        struct err e = { 0 };

        is_true(!baseline_parse(&b, "known.txt", "# seep baseline 3\r\nleak 00000000000000aa f\n",
                                &e));
        is_equal(e.exit_code, ERR_EXIT_BAD_FILE);
        has_text(e.text, "known.txt was written by a newer seep: '# seep baseline 3', ");
}

TEST(what_is_no_baseline_is_refused_with_its_line)
{
        static const char *const wrong[] = { "leak",
                                             "leak ",
                                             "leak 12",
                                             "leak 00000000000000aaf",
                                             "leak 00000000000000AA f",
                                             "lost 00000000000000aa f",
                                             " leak 00000000000000aa f",
                                             "possible-leak 00000000000000aa f",
                                             "\x7f\x45LF",
                                             "leak\t00000000000000aa" };

        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
                struct baseline b = { 0 };
                struct str text = { 0 };
                struct err e = { 0 };

                str_format(&text, "# head\n%s\nleak 00000000000000bb g\n", wrong[i]);
                is_true(!baseline_parse(&b, "known.txt", str_get(&text), &e));
                is_equal(e.exit_code, ERR_EXIT_BAD_FILE);
                has_text(e.text, "known.txt, line 2: ");
                str_free(&text);
                baseline_free(&b);
        }
}

TAP_MAIN(one_sorted_line_for_each_place, what_was_written_is_read_again,
         what_is_known_does_not_count, a_new_place_counts_and_one_that_is_gone_is_named,
         a_leak_and_a_release_at_one_place_are_two_things,
         comments_and_line_ends_of_other_systems_are_fine,
         what_an_editor_did_to_the_first_line_does_not_matter, a_later_version_is_refused,
         what_is_no_baseline_is_refused_with_its_line)
