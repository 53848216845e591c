/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include <string.h>

#include "query/expression.h"

/* The caret is below the character AT (from 1) of EXPRESSION, and the message says so. */
static void fault_at(const char *expression, int at)
{
        struct expressions x = { 0 };
        struct err e = { 0 };
        const char *caret;
        char place[32];

        is_true(!expressions_add(&x, expression, &e));
        is_equal(e.exit_code, ERR_EXIT_USAGE);
        snprintf(place, sizeof place, ", at character %d\n", at);
        has_text(e.text, place);
        has_text(e.text, expression);
        caret = strrchr(e.text, '\n');
        is_equal(caret ? strlen(caret + 1) : 0, 4 + (size_t)at);
        is_equal(caret ? caret[strlen(caret) - 1] : 0, '^');
        expressions_free(&x);
}

TEST(what_is_not_closed_is_pointed_at)
{
        fault_at("a(b", 2);
        fault_at("(a)(b(c)", 4);
        fault_at("a[bc", 2);
        fault_at("[a](x[^]", 4);
        fault_at("a{1", 2);
}

TEST(what_is_out_of_place_is_pointed_at)
{
        fault_at("*a", 1);
        fault_at("a|*b", 3);
        fault_at("abc\\", 4);
        fault_at("u[z-a]v", 5);
        fault_at("a{2,1}b", 6);
}

TEST(columns_are_counted_not_bytes)
{
        struct expressions x = { 0 };
        struct err e = { 0 };

        is_true(!expressions_add(&x, "\xc3\xa4\xc3\xb6(x", &e));
        has_text(e.text, ", at character 3\n    \xc3\xa4\xc3\xb6(x\n      ^");
}

static bool takes(const char *text)
{
        struct expressions x = { 0 };
        struct err e = { 0 };
        bool good = expressions_add(&x, text, &e);

        is_true(good || e.exit_code == ERR_EXIT_USAGE);
        expressions_free(&x);
        return good;
}

/* By regcomp() alone the first takes 33 s and 3.6 GB, and the last the stack. */
TEST(what_would_take_all_memory_is_refused)
{
        static char deep[200001];

        is_true(!takes("((.{1,255}){1,255}){1,255}"));
        is_true(!takes("(((a|b){100}){100}[x]{100}){100}"));
        is_true(!takes("([[:alpha:]]{255}{255}){2}"));
        is_true(!takes("((\\}[]}]){1,200}){200}"));
        memset(deep, '(', 100000);
        memset(deep + 100000, ')', 100000);
        is_true(!takes(deep));
        is_true(takes("((.{1,20}){1,20}){1,20}") && takes("a{255}b{255}(c|d[^]{9}]{2,30}){12}"));
        is_true(takes("[{]{2}") && takes("[[.a.]]{3}") && takes("\\{9999999999") && takes("x{,9}"));
}

TEST(a_long_one_is_told_without_its_place)
{
        struct expressions x = { 0 };
        struct err e = { 0 };
        char text[3000];

        memset(text, 'a', sizeof text);
        text[2998] = '(';
        text[2999] = 0;
        is_true(!expressions_add(&x, text, &e));
        has_text(e.text, "aaa...' is not a regular expression: ");
        is_true(strlen(e.text) < 200);
}

TEST(one_of_several_has_to_match_anywhere_or_where_it_is_anchored)
{
        struct expressions x = { 0 };
        struct err e = { 0 };

        is_true(!expressions_match(&x, "anything"));
        is_true(expressions_add(&x, "^parse_", &e) && expressions_add(&x, "load", &e));
        is_true(expressions_match(&x, "parse_big") && expressions_match(&x, "do_load_it"));
        is_true(!expressions_match(&x, "do_parse_big"));
        expressions_free(&x);
}

TAP_MAIN(what_is_not_closed_is_pointed_at, what_is_out_of_place_is_pointed_at,
         columns_are_counted_not_bytes, what_would_take_all_memory_is_refused,
         a_long_one_is_told_without_its_place,
         one_of_several_has_to_match_anywhere_or_where_it_is_anchored)
