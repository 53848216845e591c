/* SPDX-License-Identifier: MIT */
/* test_plain.c -- what is left of text that was meant to be obeyed. */
#include "base/plain.h"

#include "tap.h"

static void check_name(const char *name, const char *expected)
{
        char text[64];

        snprintf(text, sizeof text, "%s", name);
        is_equal(plain_name(text), strcmp(name, expected) != 0);
        is_text(text, expected);
}

TEST(names_are_one_line_without_orders)
{
        is_true(!plain_name(NULL));
        check_name("", "");
        check_name("std::vector<int>::push_back(int&&)", "std::vector<int>::push_back(int&&)");
        check_name("a\nb\r\nc\td", "a b  c d");
        check_name("\x1b[31mred\x07\x7f", "?[31mred??");
        check_name("c1 \xc2\x9b" "2J \xc2\x85", "c1 ?2J ?");
        check_name("bidi \xe2\x80\xae \xe2\x81\xa6\xe2\x81\xa9 \xd8\x9c \xe2\x80\x8e\xe2\x80\x8f",
                   "bidi ? ?? ? ??");
        check_name("lines \xe2\x80\xa8\xe2\x80\xa9", "lines ??");
        check_name("gr\xc3\xb6\xc3\x9f"
                   "e \xd7\x90 \xe6\x97\xa5 \xe2\x80\x93 \xf0\x9f\x98\x80",
                   "gr\xc3\xb6\xc3\x9f"
                   "e \xd7\x90 \xe6\x97\xa5 \xe2\x80\x93 \xf0\x9f\x98\x80");
        /* a file may be called so */
        check_name("latin \xe4\x9b cut \xe2\x80", "latin \xe4\x9b cut \xe2\x80");
}

static void check_output(const char *text, bool colors, const char *expected)
{
        struct str out = { 0 };

        str_text(&out, text);
        if (colors)
                is_equal(plain_is_output(&out), strcmp(text, expected) == 0);
        plain_output(&out, 0, colors);
        is_text(str_get(&out), expected);
        is_equal(out.length, strlen(expected));
        str_free(&out);
}

TEST(output_keeps_lines_and_our_colours)
{
        check_output("", true, "");
        check_output("a\tb\nc\n", true, "a\tb\nc\n");
        check_output("\x1b[1mbold\x1b[0m \x1b[38;5;1mx", true, "\x1b[1mbold\x1b[0m \x1b[38;5;1mx");
        check_output("\x1b[1mbold\x1b[0m", false, "?[1mbold?[0m");
        check_output("\x1b[2J \x1b[m \x1b]0;t\x07 \x1b[31", true, "?[2J ?[m ?]0;t? ?[31");
        check_output("\xc2\x9b \x9b \xe4 \xe2\x80\xae \xc3\xa4", true, "? ? \xe4 ? \xc3\xa4");
        check_output("end\r\n", true, "end?\n");
}

TEST(a_line_has_no_orders_and_no_second_one)
{
        is_true(plain_is_line("") && plain_is_line("\xc3\xa4 b~") && plain_is_line("latin \xe4"));
        is_true(!plain_is_line("a\tb") && !plain_is_line("a\nb") && !plain_is_line("\x1b[1mb"));
        is_true(!plain_is_line("\x9b" "2J") && !plain_is_line("\xc2\x9b" "2J"));
        is_true(!plain_is_line("a\xe2\x80\xae" "b") && !plain_is_line("b\xe2\x81\xa6"));
}

TEST(output_before_the_start_stays)
{
        struct str out = { 0 };

        str_text(&out, "\x07\x07");
        plain_output(&out, 1, true);
        is_text(str_get(&out), "\x07?");
        str_free(&out);
}

TAP_MAIN(names_are_one_line_without_orders, output_keeps_lines_and_our_colours,
         a_line_has_no_orders_and_no_second_one, output_before_the_start_stays)
