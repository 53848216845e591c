/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include "forge.h"
#include "report/views.h"

static char *callers_of(const struct profile *p, const char *function, struct err *e)
{
        struct select_request request = { .cost = SELECT_LIVE };
        struct symbols *s = forge_symbols(p);
        struct str out = { 0 };
        struct selection sel;

        is_true(select_make(&sel, p, s, &request, e));
        callers_write(&sel, s, function, &(struct tree_options){ 0 }, &out, e);
        select_free(&sel);
        symbols_free(s);
        return out.data;
}

TEST(callers_have_what_is_allocated_through_the_function)
{
        struct err e = { 0 };
        struct profile p;
        char *text;

        forge_usual(&p);
        text = callers_of(&p, "load", &e);
        is_text(text, "through load: 900B of 1,000B (90 %)\n"
                      "not freed: 900B\n"
                      "  -> 100.00% (900B, 9x): load [/src/l.c:7]\n"
                      "    -> 100.00% (900B, 9x): main [/src/m.c:1]\n"
                      "\n"
                      "mapped by mmap, live: 4,096B\n"
                      "  -> 100.00% (4,096B, 1x): load [/src/l.c:7]\n"
                      "    -> 100.00% (4,096B, 1x): main [/src/m.c:1]\n");
        free(text);
        profile_free(&p);
}

TEST(inlined_functions_have_callers_too)
{
        struct err e = { 0 };
        struct profile p;
        char *text;

        forge_usual(&p);
        text = callers_of(&p, "inner", &e);
        has_text(text, "  -> 100.00% (93B, 3x): inner [/src/w.c:61]\n"
                       "    -> 100.00% (93B, 3x): work [/src/w.c:66]\n"
                       "      -> 100.00% (93B, 3x): main [/src/m.c:4]\n");
        free(text);
        profile_free(&p);
}

/* "load" is a name; "loadx" would match it as an expression only. */
TEST(a_name_comes_before_an_expression)
{
        struct err e = { 0 };
        struct profile p;
        char *text;

        forge_usual(&p);
        free(p.symbols[7].function);
        p.symbols[7].function = heap_text("load_tiny(int)");
        text = callers_of(&p, "load", &e);
        has_text(text, "through load: 900B of ");
        free(text);
        text = callers_of(&p, "^load", &e);
        has_text(text, "through ^load: 904B of ");
        free(text);
        text = callers_of(&p, "load_tiny", &e);
        has_text(text, "through load_tiny: 4B of ");
        free(text);
        text = callers_of(&p, "load_tiny(int)", &e);
        has_text(text, "through load_tiny(int): 4B of ");
        free(text);
        is_equal(e.exit_code, 0);
        profile_free(&p);
}

TEST(recursion_counts_once_and_is_no_caller)
{
        struct err e = { 0 };
        struct profile p;
        uint32_t node;
        char *text;

        forge_start(&p);
        forge_module(&p, "/bin/prog");
        forge_name(&p, 0x100, 0, "main", "/src/m.c", 1);
        forge_name(&p, 0x200, 0, "walk", "/src/w.c", 2);
        node = forge_node(&p, 0, 0x100, 0);
        for (int i = 0; i < 3; i++)
                node = forge_node(&p, node, 0x200, 0);
        forge_site(&p, node, LEDGER_KIND_MALLOC, 70, 7);
        text = callers_of(&p, "walk", &e);
        is_text(text, "through walk: 70B of 70B (100 %)\n"
                      "not freed: 70B\n"
                      "  -> 100.00% (70B, 7x): walk [/src/w.c:2]\n"
                      "    -> 100.00% (70B, 7x): main [/src/m.c:1]\n");
        free(text);
        profile_free(&p);
}

TEST(an_unknown_function_is_an_error)
{
        struct err e = { 0 };
        struct profile p;

        forge_usual(&p);
        is_true(callers_of(&p, "nobody", &e) == NULL);
        is_equal(e.exit_code, ERR_EXIT_USAGE);
        has_text(e.text, "no function in these stacks is named 'nobody'");
        is_true(callers_of(&p, "no(body", &e) == NULL);
        has_text(e.text, "no function is named 'no(body'");
        has_text(e.text, "at character 3\n");
        profile_free(&p);
}

TAP_MAIN(callers_have_what_is_allocated_through_the_function, inlined_functions_have_callers_too,
         a_name_comes_before_an_expression, recursion_counts_once_and_is_no_caller,
         an_unknown_function_is_an_error)
