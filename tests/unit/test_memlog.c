/* SPDX-License-Identifier: MIT */
/* test_memlog.c -- signed bytes per stack, as MTrace writes them. */
#include "report/memlog.h"

#include "forge.h"
#include "tap.h"

/* f of liba.so calls malloc and calloc; main calls g of liba.so, which has no name; a slice per
 * step. */
enum { F_MALLOC = 1, F_CALLOC, G, MAPPED, DESCRIPTOR };

static void three_steps(struct profile *p)
{
        uint32_t main_node, f;
        uint16_t program, library;

        forge_start(p);
        program = forge_module(p, "/bin/prog");
        forge_name(p, 0x100, 0, "main", "/src/m.c", 7);
        library = forge_module(p, "/lib/liba.so");
        forge_name(p, 0x200, 0, "f", NULL, 0);
        main_node = forge_node(p, 0, 0x100, program);
        f = forge_node(p, main_node, 0x200, library);
        forge_site(p, f, LEDGER_KIND_MALLOC, 0, 0);
        forge_site(p, f, LEDGER_KIND_CALLOC, 0, 0);
        forge_site(p, forge_node(p, main_node, 0x300, library), LEDGER_KIND_MALLOC, 0, 0);
        forge_site(p, f, LEDGER_KIND_MMAP, 0, 0);
        forge_site(p, f, LEDGER_KIND_TYPE_FIRST, 0, 0);
        forge_slice(p, 10);
        forge_change(p, F_MALLOC, 100, 1, 1, 100);
        forge_change(p, F_CALLOC, 30, 1, 1, 30);
        forge_change(p, G, 500, 5, 5, 500);
        forge_change(p, MAPPED, 4096, 1, 1, 4096);
        forge_change(p, DESCRIPTOR, 7777, 1, 1, 7777);
        forge_slice(p, 10); /* the same millisecond */
        forge_change(p, F_MALLOC, 40, 1, 2, 140);
        forge_change(p, F_CALLOC, 90, 2, 2, 90); /* -60 and +60: nothing */
        forge_change(p, G, 372, 4, 5, 500);
        forge_slice(p, 30);
        forge_change(p, F_MALLOC, 168, 2, 3, 268);
        forge_change(p, G, 500, 5, 6, 628);
}

static const char *written(const struct profile *p, uint32_t from, uint32_t to, struct str *out)
{
        struct symbols *s = forge_symbols(p);

        str_clear(out);
        memlog_write(p, s, &(struct memlog_range){ from, to }, out);
        symbols_free(s);
        return str_get(out);
}

TEST(the_first_report_is_the_full_state_of_the_heap)
{
        struct profile p;
        struct str out = { 0 };

        three_steps(&p);
        is_text(written(&p, MEMLOG_START, 0, &out), "+500\n"
                                                    "\t/lib/liba.so\n"
                                                    "\tmain\t(/bin/prog)\t/src/m.c:7\n"
                                                    "+130\n"
                                                    "\tf\t(/lib/liba.so)\n"
                                                    "\tmain\t(/bin/prog)\t/src/m.c:7\n");
        str_free(&out);
        profile_free(&p);
}

TEST(later_reports_are_signed_changes_without_those_that_cancel)
{
        struct profile p;
        struct str out = { 0 };

        three_steps(&p);
        is_text(written(&p, 0, 1, &out), "-128\n"
                                         "\t/lib/liba.so\n"
                                         "\tmain\t(/bin/prog)\t/src/m.c:7\n");
        str_free(&out);
        profile_free(&p);
}

TEST(equal_changes_stand_in_the_order_of_their_sign_then_of_their_stacks)
{
        struct profile p;
        struct str out = { 0 };

        three_steps(&p);
        has_text(written(&p, 1, 2, &out), "+128\n\tf\t");
        is_text(written(&p, 0, 2, &out),
                "+128\n\tf\t(/lib/liba.so)\n\tmain\t(/bin/prog)\t/src/m.c:7\n");
        /* G at slice 1, so that it falls by as much as f grows from there */
        p.changes[7].live_bytes = 500 - 256;
        p.changes[p.change_count - 1].live_bytes = 500 - 256 - 128;
        is_true(strncmp(written(&p, 1, 2, &out), "+128\n\tf\t", 8) == 0);
        has_text(str_get(&out), "\n-128\n\t/lib/liba.so\n");
        str_free(&out);
        profile_free(&p);
}

TEST(a_slice_that_does_not_exist_gives_nothing)
{
        struct profile p;
        struct str out = { 0 };

        three_steps(&p);
        is_text(written(&p, MEMLOG_START, 99, &out), "");
        str_free(&out);
        profile_free(&p);
}

TEST(a_selection_is_written_by_its_cost_up_to_a_limit)
{
        struct profile p;
        struct symbols *s;
        struct selection sel;
        struct select_request request = { .cost = SELECT_ALLOCS };
        struct str out = { 0 };
        struct err e = { 0 };

        forge_usual(&p);
        s = forge_symbols(&p);
        is_true(select_make(&sel, &p, s, &request, &e));
        memlog_selection(&sel, s, &(struct memlog_options){ .limit = 2 }, &out);
        is_true(strncmp(str_get(&out), "+6\n\tparse\t(/usr/bin/prog)\t/src/a.c:10\n", 37) == 0);
        has_text(str_get(&out), "\n+3\n");
        is_true(!strstr(str_get(&out), "tiny"));
        is_true(!strstr(str_get(&out), "+1\n"));
        select_free(&sel);
        symbols_free(s);
        str_free(&out);
        profile_free(&p);
}

TEST(inlined_functions_have_lines_of_their_own_and_lost_stacks_say_so)
{
        struct profile p;
        struct str out = { 0 };

        forge_usual(&p);
        forge_site(&p, 0, LEDGER_KIND_MALLOC, 1, 1);
        forge_site(&p, 1, LEDGER_KIND_MALLOC, 1, 1);
        forge_slice(&p, 1);
        forge_change(&p, FORGE_SITE_INNER, 93, 3, 3, 93);
        forge_change(&p, FORGE_SITE_MMAP + 1, 2, 1, 1, 2);
        forge_change(&p, FORGE_SITE_MMAP + 2, 1, 1, 1, 1);
        is_text(written(&p, MEMLOG_START, 0, &out), "+93\n"
                                                    "\tinner\t(/usr/bin/prog)\t/src/w.c:61\n"
                                                    "\twork\t(/usr/bin/prog)\t/src/w.c:66\n"
                                                    "\tmain\t(/usr/bin/prog)\t/src/m.c:4\n"
                                                    "+2\n\t[no stack recorded]\n"
                                                    "+1\n\t[stack lost]\n");
        str_free(&out);
        profile_free(&p);
}

TAP_MAIN(the_first_report_is_the_full_state_of_the_heap,
         later_reports_are_signed_changes_without_those_that_cancel,
         equal_changes_stand_in_the_order_of_their_sign_then_of_their_stacks,
         a_slice_that_does_not_exist_gives_nothing,
         a_selection_is_written_by_its_cost_up_to_a_limit,
         inlined_functions_have_lines_of_their_own_and_lost_stacks_say_so)
