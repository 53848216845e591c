/* SPDX-License-Identifier: MIT */
/*
 * test_regex.c -- the agent's regular expressions mean what those of the C library mean; what they
 * do not know is refused.
 */
#include "wire/regex.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

static const char *fault(const char *expression)
{
        uint32_t at;

        return regex_fault(expression, &at);
}

static uint32_t place(const char *expression)
{
        uint32_t at = 99;

        return regex_fault(expression, &at) ? at : 99;
}

/* What regexec says of EXPRESSION and TEXT; -1: it is no expression for it. */
static int oracle(const char *expression, const char *text)
{
        regex_t compiled;
        int found;

        if (regcomp(&compiled, expression, REG_EXTENDED | REG_NOSUB) != 0)
                return -1;
        found = regexec(&compiled, text, 0, NULL, 0) == 0;
        regfree(&compiled);
        return found;
}

TEST(paths_match_as_people_write_them)
{
        const char *path = "/usr/lib/x86_64-linux-gnu/libfoo.so.1.2.3";

        is_true(regex_find("libfoo", path));
        is_true(regex_find("libfoo\\.so", path));
        is_true(regex_find("^/usr/.*foo.*[0-9]$", path));
        is_true(regex_find("libbar|libfoo", path));
        is_true(regex_find("lib[ef]oo\\.so\\.[0-9]+", path));
        is_true(!regex_find("libfoo$", path));
        is_true(!regex_find("^libfoo", path));
        is_true(!regex_find("libfoo\\.1", path));
        is_true(!regex_find("[^0-9]$", path));
        is_true(regex_find("^$", ""));
        is_true(!regex_find("^$", path));
        is_true(regex_find("caf\xc3\xa9", "/opt/caf\xc3\xa9/lib.so"));
}

TEST(sets_hold_what_stands_in_them)
{
        is_true(regex_find("^[]x]$", "]"));
        is_true(regex_find("^[^]x]$", "a"));
        is_true(!regex_find("^[^]x]$", "]"));
        is_true(regex_find("^[a-]$", "-"));
        is_true(regex_find("^[-a]$", "-"));
        is_true(regex_find("^[^-A]$", "B"));
        is_true(!regex_find("^[^-A]$", "-"));
        is_true(regex_find("^[.*|\\]$", "|"));
        is_true(regex_find("^[.*|\\]$", "\\"));
        is_true(!regex_find("^[.*|\\]$", "a"));
        is_true(regex_find("^[a-cx-z]+$", "abcxyz"));
}

TEST(what_is_not_known_is_refused_where_it_is)
{
        is_equal(place("lib(a|b)"), 3);
        is_equal(place("a{2}"), 1);
        is_equal(place("a)"), 1);
        is_equal(place("*a"), 0);
        is_equal(place("a|+"), 2);
        is_equal(place("^*"), 1);
        is_equal(place("a**"), 1);
        is_equal(place("x[[:alpha:]]"), 1);
        is_equal(place("[b-a]"), 0);
        is_equal(place("[abc"), 0);
        is_equal(place("[]"), 0);
        is_equal(place("[^]"), 0);
        is_equal(place("["), 0);
        is_equal(place("a\\"), 1);
        is_equal(place("\\w"), 0);
        is_equal(place("\xc3\xa9*"), 2);
        is_equal(place("[\xc3\xa9]"), 0);
        is_equal(place(""), 0);
        is_equal(place("a||b"), 2);
        is_equal(place("a|"), 2);
        is_true(!fault("lib\\(a\\|b\\)\\{2\\}"));
        is_true(!fault("[(){}*+?]"));
}

TEST(an_expression_may_be_as_long_as_there_is_room)
{
        char text[REGEX_MAX + 2] = "", path[2 * REGEX_MAX];

        memset(text, 'a', REGEX_MAX);
        memset(path, 'a', sizeof path - 1);
        path[sizeof path - 1] = 0;
        is_true(!fault(text));
        is_true(regex_find(text, path));
        path[REGEX_MAX - 1] = 0;
        is_true(!regex_find(text, path));
        text[REGEX_MAX] = 'a';
        is_true(fault(text) != NULL);
}

/* Backtracking would take longer than anybody waits. */
TEST(many_repetitions_are_no_trouble)
{
        char text[901] = "", path[4000];

        for (int i = 0; i < 450; i++)
                strcat(text, "a*");
        memset(path, 'a', sizeof path - 1);
        path[sizeof path - 1] = 0;
        is_true(regex_find(text, path));
        text[898] = 'b';
        text[899] = 0;
        is_true(!regex_find(text, path));
}

static void make(char *out, int length, const char *from)
{
        int count = (int)strlen(from);

        for (int i = 0; i < length; i++)
                out[i] = from[rand() % count];
        out[length] = 0;
}

TEST(random_expressions_mean_what_the_c_library_says)
{
        int compared = 0, found = 0, wrong = 0;

        srand(7);
        for (int i = 0; i < 60000; i++) {
                char expression[16], text[12];
                int said;

                make(expression, 1 + rand() % 9, "aabbc..*+?|^$[]-\\");
                if (fault(expression))
                        continue;
                for (int j = 0; j < 4; j++) {
                        make(text, rand() % 8, "aabbc.-^]");
                        said = oracle(expression, text);
                        if (said < 0)
                                continue;
                        compared++;
                        found += said;
                        if (regex_find(expression, text) != (said == 1) && ++wrong < 10)
                                printf("# %s in %s: C library says %d\n", expression, text, said);
                }
        }
        is_true(compared > 20000 && found > 1000 && found < compared);
        is_equal(wrong, 0);
}

TAP_MAIN(paths_match_as_people_write_them, sets_hold_what_stands_in_them,
         what_is_not_known_is_refused_where_it_is, an_expression_may_be_as_long_as_there_is_room,
         many_repetitions_are_no_trouble, random_expressions_mean_what_the_c_library_says)
