/* SPDX-License-Identifier: MIT */
/* test_callgrind.c -- recursion folded, so that what flows into a function flows out of it. */
#include "export/export.h"
#include "forge.h"
#include "tap.h"

/* A stack of the functions named by letters, outermost first, each on line 1; all sites have 10
 * bytes. */
static void forge_letters(struct profile *p, const char *letters)
{
        uint32_t node = 0;

        for (; *letters; letters++)
                node = forge_node(p, node, 0x1000 + (uint64_t)*letters * 16, 0);
        forge_site(p, node, LEDGER_KIND_MALLOC, 10, 1);
}

static const char *folded(const char *letters, struct str *out)
{
        struct profile p;
        struct symbols *symbols;
        struct selection sel;
        struct err e = { 0 };

        forge_start(&p);
        forge_module(&p, "/bin/prog");
        for (char c = 'a'; c <= 'm'; c++)
                forge_name(&p, 0x1000 + (uint64_t)c * 16, 0, (char[]){ c, 0 }, "/src/x.c", 1);
        forge_letters(&p, letters);
        symbols = forge_symbols(&p);
        is_true(select_make(&sel, &p, symbols, &(struct select_request){ .cost = SELECT_LIVE },
                            &e));
        str_clear(out);
        is_true(export_callgrind(&(struct export_input){ .profile = &p,
                                                         .symbols = symbols,
                                                         .sel = &sel,
                                                         .cost_set = true,
                                                         .cost = COST_LIVE_BYTES },
                                 out, &e));
        select_free(&sel);
        symbols_free(symbols);
        profile_free(&p);
        return strstr(str_get(out), "summary:");
}

TEST(a_function_that_calls_itself_is_one)
{
        struct str out = { 0 };

        is_text(folded("mfffg", &out),
                "summary: 10\n"
                "\nob=(1) /bin/prog\nfl=(1) /src/x.c\nfn=(1) m\ncob=(1)\ncfi=(1)\ncfn=(2) "
                "f\ncalls=1 0\n1 10\n"
                "\nob=(1)\nfl=(1)\nfn=(2)\ncob=(1)\ncfi=(1)\ncfn=(3) g\ncalls=1 0\n1 10\n"
                "\nob=(1)\nfl=(1)\nfn=(3)\n1 10\n");
        str_free(&out);
}

TEST(functions_that_call_each_other_have_a_second_name)
{
        struct str out = { 0 };

        is_text(folded("mfgfgfh", &out),
                "summary: 10\n"
                "\nob=(1) /bin/prog\nfl=(1) /src/x.c\nfn=(1) m\ncob=(1)\ncfi=(1)\ncfn=(2) "
                "f\ncalls=1 0\n1 10\n"
                "\nob=(1)\nfl=(1)\nfn=(2)\ncob=(1)\ncfi=(1)\ncfn=(3) g\ncalls=1 0\n1 10\n"
                "\nob=(1)\nfl=(1)\nfn=(4) f'2\ncob=(1)\ncfi=(1)\ncfn=(5) h\ncalls=1 0\n1 10\n"
                "\nob=(1)\nfl=(1)\nfn=(3)\ncob=(1)\ncfi=(1)\ncfn=(4)\ncalls=1 0\n1 10\n"
                "\nob=(1)\nfl=(1)\nfn=(5)\n1 10\n");
        str_free(&out);
}

TAP_MAIN(a_function_that_calls_itself_is_one, functions_that_call_each_other_have_a_second_name)
