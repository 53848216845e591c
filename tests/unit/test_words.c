/* SPDX-License-Identifier: MIT */
/*
 * test_words.c -- a line is split as a shell would split it.
 */
#include "base/str.h"
#include "cli/words.h"
#include "tap.h"

/* The words of TEXT as "[a][b]"; "error" when it cannot be split. */
static const char *split(const char *text)
{
        static struct str out;
        struct err e = { 0 };
        int count;
        char **words = words_split(text, &count, &e);

        str_clear(&out);
        if (!words)
                return "error";
        for (int i = 0; i < count; i++)
                str_format(&out, "[%s]", words[i]);
        is_true(!words[count]);
        words_free(words);
        return str_get(&out);
}

TEST(white_space_separates)
{
        is_text(split(""), "");
        is_text(split("  \t\n"), "");
        is_text(split("-f"), "[-f]");
        is_text(split("  -o  a.seep\t--follow=all \n"), "[-o][a.seep][--follow=all]");
}

TEST(quotes_group_and_vanish)
{
        is_text(split("-o 'a b'"), "[-o][a b]");
        is_text(split("-o \"a b\""), "[-o][a b]");
        is_text(split("--out='a  b'c"), "[--out=a  bc]");
        is_text(split("''"), "[]");
        is_text(split("'a\"b' \"c'd\""), "[a\"b][c'd]");
}

TEST(a_backslash_takes_the_next_character)
{
        is_text(split("a\\ b"), "[a b]");
        is_text(split("\\'a"), "['a]");
        is_text(split("\"a\\\"b\""), "[a\"b]");
        is_text(split("'a\\b'"), "[a\\b]");
        is_text(split("a\\"), "[a\\]");
}

TEST(an_open_quote_is_an_error_with_the_text_in_it)
{
        struct err e = { 0 };
        int count;

        is_text(split("'a"), "error");
        is_text(split("a \"b"), "error");
        is_true(!words_split("-o \"b", &count, &e));
        has_text(e.text, "-o \"b");
        is_equal(e.exit_code, ERR_EXIT_USAGE);
}

TAP_MAIN(white_space_separates, quotes_group_and_vanish, a_backslash_takes_the_next_character,
         an_open_quote_is_an_error_with_the_text_in_it)
