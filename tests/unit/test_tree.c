/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include <string.h>

#include "forge.h"
#include "query/wrapper.h"
#include "report/views.h"
#include "wire/hello.h"

/* The tree of P as text, to be freed. */
static char *tree_of(const struct profile *p, struct select_request request,
                     struct tree_options options)
{
        struct symbols *s = forge_symbols(p);
        struct str out = { 0 };
        struct selection sel;
        struct err e = { 0 };

        is_true(select_make(&sel, p, s, &request, &e));
        tree_write(&sel, s, &options, &out);
        select_free(&sel);
        symbols_free(s);
        return out.data;
}

static char *usual_tree(struct select_request request, struct tree_options options)
{
        struct profile p;
        char *text;

        forge_usual(&p);
        text = tree_of(&p, request, options);
        profile_free(&p);
        return text;
}

TEST(from_main_inwards_with_shares_of_the_whole)
{
        char *text = usual_tree((struct select_request){ .cost = SELECT_LIVE },
                                (struct tree_options){ .threshold = 1 });

        is_text(text, "not freed: 1,000B\n"
                      "  -> 90.00% (900B, 9x): main [/src/m.c:1]\n"
                      "  | -> 90.00% (900B, 9x): load [/src/l.c:7]\n"
                      "  |   -> 60.00% (600B, 6x): parse [/src/a.c:10]\n"
                      "  |   -> 20.00% (200B, 2x): (itself)\n"
                      "  |   -> 10.00% (100B, 1x): parse [/src/a.c:20]\n"
                      "  |\n"
                      "  -> 9.30% (93B, 3x): main [/src/m.c:4]\n"
                      "  | -> 9.30% (93B, 3x): work [/src/w.c:66]\n"
                      "  |   -> 9.30% (93B, 3x): inner [/src/w.c:61]\n"
                      "  |\n"
                      "  -> 0.70% (7B, 4x) in 2 places, all below the 1.00% threshold\n"
                      "\n"
                      "mapped by mmap, live: 4,096B\n"
                      "  -> 100.00% (4,096B, 1x): main [/src/m.c:1]\n"
                      "    -> 100.00% (4,096B, 1x): load [/src/l.c:7]\n");
        free(text);
}

TEST(inverted_from_the_caller_of_malloc_outwards)
{
        char *text = usual_tree((struct select_request){ .cost = SELECT_LIVE },
                                (struct tree_options){ .threshold = 0.35, .inverted = true });

        is_text(text, "not freed: 1,000B\n"
                      "  -> 60.00% (600B, 6x): parse [/src/a.c:10]\n"
                      "  | -> 60.00% (600B, 6x): load [/src/l.c:7]\n"
                      "  |   -> 60.00% (600B, 6x): main [/src/m.c:1]\n"
                      "  |\n"
                      "  -> 20.00% (200B, 2x): load [/src/l.c:7]\n"
                      "  | -> 20.00% (200B, 2x): main [/src/m.c:1]\n"
                      "  |\n"
                      "  -> 10.00% (100B, 1x): parse [/src/a.c:20]\n"
                      "  | -> 10.00% (100B, 1x): load [/src/l.c:7]\n"
                      "  |   -> 10.00% (100B, 1x): main [/src/m.c:1]\n"
                      "  |\n"
                      "  -> 9.30% (93B, 3x): inner [/src/w.c:61]\n"
                      "  | -> 9.30% (93B, 3x): work [/src/w.c:66]\n"
                      "  |   -> 9.30% (93B, 3x): main [/src/m.c:4]\n"
                      "  |\n"
                      "  -> 0.40% (4B, 1x): tiny\n"
                      "  | -> 0.40% (4B, 1x): main [/src/m.c:2]\n"
                      "  |\n"
                      "  -> 0.30% (3B, 3x) in 1 place, all below the 0.35% threshold\n"
                      "\n"
                      "mapped by mmap, live: 4,096B\n"
                      "  -> 100.00% (4,096B, 1x): load [/src/l.c:7]\n"
                      "    -> 100.00% (4,096B, 1x): main [/src/m.c:1]\n");
        free(text);
}

TEST(the_peak_has_what_was_mapped_then)
{
        struct profile p;
        char *text;

        forge_usual(&p);
        p.sites[FORGE_SITE_LOAD].peak_bytes = 50;
        p.sites[FORGE_SITE_LOAD].peak_blocks = 1;
        p.sites[FORGE_SITE_MMAP].peak_bytes = 8192;
        p.sites[FORGE_SITE_MMAP].peak_blocks = 2;
        p.totals.peak_bytes = 1 << 20;
        text = tree_of(&p, (struct select_request){ .cost = SELECT_PEAK },
                       (struct tree_options){ .threshold = 1, .inverted = true });
        is_text(text, "peak: 50B\n"
                      "  -> 100.00% (50B, 1x): load [/src/l.c:7]\n"
                      "    -> 100.00% (50B, 1x): main [/src/m.c:1]\n"
                      "\n"
                      "mapped by mmap, at the peak of the heap: 8,192B\n"
                      "  -> 100.00% (8,192B, 2x): load [/src/l.c:7]\n"
                      "    -> 100.00% (8,192B, 2x): main [/src/m.c:1]\n");
        free(text);
        p.totals.peak_bytes = 50; /* most of the memory is no heap: that comes first */
        text = tree_of(&p, (struct select_request){ .cost = SELECT_PEAK },
                       (struct tree_options){ .threshold = 1, .inverted = true });
        is_true(strncmp(text, "mapped by mmap", 14) == 0);
        has_text(text, "\n\npeak: 50B\n");
        free(text);
        profile_free(&p);
}

static char *narrow_tree(const char *function, uint32_t columns)
{
        struct profile p;
        char *text;

        forge_start(&p);
        forge_module(&p, "/usr/bin/prog");
        forge_name(&p, 0x100, 0, function, "/usr/include/c++/v.h", 7);
        forge_site(&p, forge_node(&p, 0, 0x100, 0), LEDGER_KIND_NEW, 5, 1);
        text = tree_of(&p, (struct select_request){ .cost = SELECT_LIVE },
                       (struct tree_options){ .threshold = 1, .columns = columns });
        profile_free(&p);
        return text;
}

TEST(names_are_shortened_only_as_far_as_the_terminal_needs)
{
        static const struct {
                uint32_t columns;
                const char *line;
        } cases[] = { { 0, "a<b<c>, d>::f(int, g<h>) const [/usr/include/c++/v.h:7]" },
                      { 78, "a<b<c>, d>::f(int, g<h>) const [/usr/include/c++/v.h:7]" },
                      { 77, "a<b<c>, d>::f(...) const [/usr/include/c++/v.h:7]" },
                      { 71, "a<...>::f(...) const [/usr/include/c++/v.h:7]" },
                      { 67, "a<...>::f(...) const [v.h:7]" },
                      { 10, "a<>::f() const" } };

        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                char *text = narrow_tree("a<b<c>, d>::f(int, g<h>) const", cases[i].columns);
                struct str expected = { 0 };

                str_format(&expected, "not freed: 5B\n  -> 100.00%% (5B, 1x): %s\n", cases[i].line);
                is_text(text, str_get(&expected));
                str_free(&expected);
                free(text);
        }
}

TEST(calls_are_weighed_by_their_number)
{
        char *text = usual_tree((struct select_request){ .cost = SELECT_ALLOCS },
                                (struct tree_options){ .threshold = 20, .inverted = true });

        has_text(text, "calls: 16x\n  -> 37.50% (600B, 6x): parse [/src/a.c:10]\n");
        has_text(text, "  -> 62.50% (400B, 10x) in 5 places, all below the 20.00% threshold\n");
        free(text);
}

TEST(a_limit_sums_what_is_beyond_it)
{
        char *text = usual_tree((struct select_request){ .cost = SELECT_LIVE },
                                (struct tree_options){
                                        .threshold = 1, .inverted = true, .limit = 1 });

        has_text(text, "  -> 40.00% (400B, 10x) in 5 places, all below the first 1\n");
        free(text);
}

TEST(merged_stacks_end_at_the_given_depth)
{
        char *text = usual_tree((struct select_request){ .cost = SELECT_LIVE, .depth_merge = 1 },
                                (struct tree_options){ .threshold = 5 });

        has_text(text, "not freed: 1,000B\n"
                       "  -> 60.00% (600B, 6x): parse [/src/a.c:10]\n"
                       "  -> 20.00% (200B, 2x): load [/src/l.c:7]\n"
                       "  -> 10.00% (100B, 1x): parse [/src/a.c:20]\n"
                       "  -> 9.30% (93B, 3x): work [/src/w.c:66]\n"
                       "  | -> 9.30% (93B, 3x): inner [/src/w.c:61]\n"
                       "  |\n"
                       "  -> 0.70% (7B, 4x) in 2 places, all below the 5.00% threshold\n");
        free(text);
}

/* A program without line numbers: one name for the call of malloc and for the other calls. */
TEST(own_allocations_are_a_part_beside_the_calls)
{
        uint32_t call;
        struct profile p;
        char *text;

        forge_start(&p);
        forge_module(&p, "/usr/bin/prog");
        forge_name(&p, 0x100, 0, "main", NULL, 0);
        forge_name(&p, 0x110, 0, "main", NULL, 0);
        forge_name(&p, 0x200, 0, "work", NULL, 0);
        call = forge_node(&p, 0, 0x100, 0);
        forge_site(&p, forge_node(&p, call, 0x200, 0), LEDGER_KIND_MALLOC, 70, 2);
        forge_site(&p, forge_node(&p, 0, 0x110, 0), LEDGER_KIND_MALLOC, 30, 1);
        text = tree_of(&p, (struct select_request){ .cost = SELECT_LIVE },
                       (struct tree_options){ .threshold = 1 });
        is_text(text, "not freed: 100B\n"
                      "  -> 100.00% (100B, 3x): main\n"
                      "    -> 70.00% (70B, 2x): work\n"
                      "    -> 30.00% (30B, 1x): (itself)\n");
        free(text);
        profile_free(&p);
}

/* add calls xmalloc, which is hidden, and strdup on one line; and itself again. */
TEST(what_comes_through_hidden_wrappers_is_no_second_line)
{
        struct wrappers w = { 0 };
        uint32_t call;
        struct profile p;
        char *text;

        forge_start(&p);
        forge_module(&p, "/usr/bin/prog");
        forge_name(&p, 0x100, 0, "add", "/src/l.c", 10);
        forge_name(&p, 0x110, 0, "add", "/src/l.c", 10);
        forge_name(&p, 0x120, 0, "add", "/src/l.c", 10);
        forge_name(&p, 0x200, 0, "xmalloc", "/src/x.c", 3);
        forge_name(&p, 0x300, 0, "copy", "/src/c.c", 7);
        forge_site(&p, forge_node(&p, forge_node(&p, 0, 0x100, 0), 0x200, 0), LEDGER_KIND_MALLOC,
                   900, 3);
        forge_site(&p, forge_node(&p, forge_node(&p, 0, 0x110, 0), 0x300, 0), LEDGER_KIND_MALLOC,
                   40, 2);
        call = forge_node(&p, 0, 0x120, 0);
        forge_site(&p, forge_node(&p, forge_node(&p, call, 0x100, 0), 0x200, 0), LEDGER_KIND_MALLOC,
                   60, 1);
        text = tree_of(&p, (struct select_request){ .cost = SELECT_LIVE, .wrappers = &w },
                       (struct tree_options){ .threshold = 5 });
        is_text(text, "not freed: 1,000B\n"
                      "  -> 100.00% (1,000B, 6x): add [/src/l.c:10]\n"
                      "    -> 90.00% (900B, 3x): (itself)\n"
                      "    -> 6.00% (60B, 1x): add [/src/l.c:10]\n"
                      "    -> 4.00% (40B, 2x) in 1 place, all below the 5.00% threshold\n");
        free(text);
        wrappers_free(&w);
        profile_free(&p);
}

TEST(recursion_is_a_chain_and_ends)
{
        enum { DEPTH = 20000 };
        uint32_t node = 0, lines = 0;
        struct profile p;
        char *text;

        forge_start(&p);
        forge_module(&p, "/usr/bin/prog");
        forge_name(&p, 0x100, 0, "again", "/src/r.c", 3);
        for (int i = 0; i < DEPTH; i++)
                node = forge_node(&p, node, 0x100, 0);
        forge_site(&p, node, LEDGER_KIND_MALLOC, 50, 1);
        for (int inverted = 0; inverted < 2; inverted++) {
                text = tree_of(&p, (struct select_request){ .cost = SELECT_LIVE },
                               (struct tree_options){ .threshold = 1, .inverted = inverted });
                lines = 0;
                for (const char *c = text;
                     (c = strstr(c, "-> 100.00% (50B, 1x): again [/src/r.c:3]\n")); c++)
                        lines++;
                is_equal(lines, DEPTH);
                free(text);
        }
        profile_free(&p);
}

/* _start and the C library's frames stand before every main and are not shown; what they allocate
 * themselves is. */
TEST(start_code_is_left_out_but_not_its_own_memory)
{
        uint32_t start, init, main_node;
        uint16_t prog, libc;
        struct profile p;
        char *text;

        forge_start(&p);
        prog = forge_module(&p, "/usr/bin/prog");
        forge_name(&p, 0x100, 0, "_start", NULL, 0);
        forge_name(&p, 0x200, 0, "main", NULL, 0);
        libc = forge_module(&p, "/lib/libc.so.6");
        start = forge_node(&p, 0, 0x100, prog);
        init = forge_node(&p, start, 0x900, libc);
        main_node = forge_node(&p, init, 0x200, prog);
        forge_site(&p, main_node, LEDGER_KIND_MALLOC, 60, 1);
        forge_site(&p, init, LEDGER_KIND_MALLOC, 40, 1);
        text = tree_of(&p, (struct select_request){ .cost = SELECT_LIVE },
                       (struct tree_options){ .threshold = 1 });
        is_text(text, "not freed: 100B\n"
                      "  -> 60.00% (60B, 1x): main\n"
                      "  -> 40.00% (40B, 1x): libc.so.6+0x900\n");
        free(text);
        text = tree_of(&p, (struct select_request){ .cost = SELECT_LIVE },
                       (struct tree_options){ .threshold = 1, .inverted = true });
        is_text(text, "not freed: 100B\n"
                      "  -> 60.00% (60B, 1x): main\n"
                      "  -> 40.00% (40B, 1x): libc.so.6+0x900\n");
        free(text);
        profile_free(&p);
}

TEST(start_code_of_a_stripped_program_is_known_by_its_callee)
{
        uint32_t node;
        uint16_t prog, libc;
        struct profile p;
        char *text;

        forge_start(&p);
        prog = forge_module(&p, "/usr/bin/prog");
        libc = forge_module(&p, "/lib/libc.so.6");
        forge_name(&p, 0x900, 0, "__libc_start_main_impl", NULL, 0);
        node = forge_node(&p, forge_node(&p, 0, 0x100, prog), 0x900, libc);
        forge_site(&p, forge_node(&p, node, 0x200, prog), LEDGER_KIND_MALLOC, 60, 1);
        for (int inverted = 0; inverted < 2; inverted++) {
                text = tree_of(&p, (struct select_request){ .cost = SELECT_LIVE },
                               (struct tree_options){ .threshold = 1, .inverted = inverted });
                is_text(text, "not freed: 60B\n"
                              "  -> 100.00% (60B, 1x): prog+0x200\n");
                free(text);
        }
        profile_free(&p);
}

TEST(an_empty_recording_gives_an_empty_tree)
{
        struct profile p;
        char *text;

        forge_start(&p);
        text = tree_of(&p, (struct select_request){ .cost = SELECT_PEAK },
                       (struct tree_options){ .threshold = 1 });
        is_text(text, "peak: 0B\n");
        free(text);
        profile_free(&p);
}

TEST(a_stack_that_was_cut_short_does_not_begin_where_others_do)
{
        struct profile p;
        uint32_t main_node, cut;
        uint16_t m;
        char *text;

        forge_start(&p);
        m = forge_module(&p, "/bin/prog");
        forge_name(&p, 0x100, 0, "main", NULL, 0);
        forge_name(&p, 0x200, 0, "work", NULL, 0);
        main_node = forge_node(&p, 0, 0x100, m);
        cut = forge_node(&p, 1, 0x200, m);
        forge_site(&p, forge_node(&p, main_node, 0x200, m), LEDGER_KIND_MALLOC, 10, 1);
        forge_site(&p, cut, LEDGER_KIND_MALLOC, 30, 1);
        text = tree_of(&p, (struct select_request){ .cost = SELECT_LIVE },
                       (struct tree_options){ .threshold = 1 });
        is_text(text, "not freed: 40B\n"
                      "  -> 75.00% (30B, 1x): [stack lost]\n"
                      "  | -> 75.00% (30B, 1x): work\n"
                      "  |\n"
                      "  -> 25.00% (10B, 1x): main\n"
                      "    -> 25.00% (10B, 1x): work\n");
        free(text);
        profile_free(&p);
}

TEST(memory_without_a_stack_is_still_counted)
{
        struct profile p;
        char *text;

        forge_start(&p);
        forge_site(&p, 0, LEDGER_KIND_MALLOC, 10, 1);
        forge_site(&p, 1, LEDGER_KIND_MALLOC, 30, 1);
        for (int inverted = 0; inverted < 2; inverted++) {
                text = tree_of(&p, (struct select_request){ .cost = SELECT_LIVE },
                               (struct tree_options){ .threshold = 1, .inverted = inverted });
                is_text(text, "not freed: 40B\n"
                              "  -> 75.00% (30B, 1x): [stack lost]\n"
                              "  -> 25.00% (10B, 1x): [no stack recorded]\n");
                free(text);
        }
        p.meta.flags = WIRE_F_NO_STACKS; /* record --depth 0: none was lost */
        text = tree_of(&p, (struct select_request){ .cost = SELECT_LIVE },
                       (struct tree_options){ .threshold = 1 });
        is_true(!strstr(text, "lost"));
        free(text);
        profile_free(&p);
}

TAP_MAIN(from_main_inwards_with_shares_of_the_whole, inverted_from_the_caller_of_malloc_outwards,
         the_peak_has_what_was_mapped_then, names_are_shortened_only_as_far_as_the_terminal_needs,
         calls_are_weighed_by_their_number, a_limit_sums_what_is_beyond_it,
         merged_stacks_end_at_the_given_depth, own_allocations_are_a_part_beside_the_calls,
         what_comes_through_hidden_wrappers_is_no_second_line,
         recursion_is_a_chain_and_ends, start_code_is_left_out_but_not_its_own_memory,
         start_code_of_a_stripped_program_is_known_by_its_callee,
         an_empty_recording_gives_an_empty_tree,
         a_stack_that_was_cut_short_does_not_begin_where_others_do,
         memory_without_a_stack_is_still_counted)
