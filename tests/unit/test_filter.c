/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include "forge.h"
#include "query/filter.h"
#include "query/select.h"

struct wish {
        enum filter_kind kind;
        const char *expression;
};

/* Bytes not freed, of the heap, that pass the filters. */
static long long bytes_with(const struct wish *wishes, size_t count)
{
        struct select_request request = { .cost = SELECT_LIVE };
        struct filter f = { 0 };
        struct selection sel;
        struct err e = { 0 };
        struct profile p;
        struct symbols *s;
        long long bytes;

        forge_usual(&p);
        s = forge_symbols(&p);
        for (size_t i = 0; i < count; i++)
                is_true(filter_add(&f, wishes[i].kind, wishes[i].expression, &e));
        request.filter = &f;
        is_true(select_make(&sel, &p, s, &request, &e));
        bytes = (long long)sel.heap.total_bytes;
        select_free(&sel);
        filter_free(&f);
        symbols_free(s);
        profile_free(&p);
        return bytes;
}

#define BYTES_WITH(...)                            \
        bytes_with((struct wish[]){ __VA_ARGS__ }, \
                   sizeof((struct wish[]){ __VA_ARGS__ }) / sizeof(struct wish))

TEST(an_include_keeps_only_its_stacks)
{
        is_equal(BYTES_WITH({ FILTER_INCLUDE, "^load$" }), 900);
        is_equal(BYTES_WITH({ FILTER_INCLUDE, "^(tiny|small)$" }), 7);
        is_equal(BYTES_WITH({ FILTER_INCLUDE, "nowhere" }), 0);
}

TEST(an_exclude_takes_its_stacks_away)
{
        is_equal(BYTES_WITH({ FILTER_EXCLUDE, "parse" }), 300);
        is_equal(BYTES_WITH({ FILTER_EXCLUDE, "nowhere" }), 1000);
}

TEST(the_innermost_matching_frame_decides)
{
        is_equal(BYTES_WITH({ FILTER_INCLUDE, "load" }, { FILTER_EXCLUDE, "parse" }), 200);
        is_equal(BYTES_WITH({ FILTER_INCLUDE, "parse" }, { FILTER_EXCLUDE, "load" }), 700);
}

TEST(where_both_match_one_frame_exclude_wins)
{
        is_equal(BYTES_WITH({ FILTER_INCLUDE, "^(tiny|small)$" }, { FILTER_EXCLUDE, "small" }), 4);
}

TEST(several_includes_are_a_choice)
{
        is_equal(BYTES_WITH({ FILTER_INCLUDE, "tiny" }, { FILTER_INCLUDE, "small" }), 7);
}

TEST(inlined_functions_are_frames)
{
        is_equal(BYTES_WITH({ FILTER_INCLUDE, "^inner$" }), 93);
        is_equal(BYTES_WITH({ FILTER_INCLUDE, "^work$" }, { FILTER_EXCLUDE, "^inner$" }), 0);
}

TEST(a_module_is_matched_by_its_path)
{
        is_equal(BYTES_WITH({ FILTER_MODULE, "bin/prog$" }), 1000);
        is_equal(BYTES_WITH({ FILTER_MODULE, "libfoo" }), 0);
        is_equal(BYTES_WITH({ FILTER_MODULE, "prog" }, { FILTER_INCLUDE, "tiny" }), 4);
}

TEST(what_is_no_expression_is_wrong_use)
{
        struct filter f = { 0 };
        struct err e = { 0 };

        is_true(!filter_add(&f, FILTER_INCLUDE, "a(b", &e));
        is_equal(e.exit_code, ERR_EXIT_USAGE);
        has_text(e.text, "a(b");
        filter_free(&f);
}

/* Calls by what the thread did, live bytes by whose blocks they are. */
TEST(a_thread_is_seen_by_its_own_calls_and_blocks)
{
        struct select_request request = { .cost = SELECT_LIVE };
        struct filter f = { 0 };
        struct selection sel;
        struct err e = { 0 };
        struct profile p;
        struct symbols *s;

        forge_usual(&p);
        forge_thread(&p, 11, "main");
        forge_thread(&p, 12, "worker");
        forge_block(&p, 0x1000, 150, FORGE_SITE_LOAD, 1, 0);
        forge_block(&p, 0x2000, 50, FORGE_SITE_LOAD, 2, 0);
        p.shares = heap_zero(2, sizeof *p.shares);
        p.shares[0] = (struct profile_share){
                .site = FORGE_SITE_LOAD, .thread = 1, .allocs = 1, .alloc_bytes = 150
        };
        p.shares[1] = (struct profile_share){
                .site = FORGE_SITE_LOAD, .thread = 2, .allocs = 9, .alloc_bytes = 450
        };
        p.share_count = 2;
        s = forge_symbols(&p);
        filter_add(&f, FILTER_THREAD, "^work", &e);
        request.filter = &f;
        is_true(select_make(&sel, &p, s, &request, &e));
        is_equal(sel.heap.total_bytes, 50);
        is_equal(sel.heap.rows[0].allocs, 9);
        select_free(&sel);
        request.cost = SELECT_PEAK;
        is_true(!select_make(&sel, &p, s, &request, &e));
        is_equal(e.exit_code, ERR_EXIT_USAGE);
        select_free(&sel);
        filter_free(&f);
        symbols_free(s);
        profile_free(&p);
}

/* Slices at 1 s and 2 s: parse has 400 then 600 live, load 300 then 200. */
static void forge_slices(struct profile *p)
{
        static const struct profile_change changes[] = {
                { FORGE_SITE_PARSE, 0, 400, 4, 4, 400 },
                { FORGE_SITE_LOAD, 0, 300, 3, 3, 300 },
                { FORGE_SITE_PARSE, 0, 600, 6, 8, 800 },
                { FORGE_SITE_LOAD, 0, 200, 2, 3, 300 },
        };

        p->changes = heap_zero(4, sizeof *p->changes);
        memcpy(p->changes, changes, sizeof changes);
        p->change_count = 4;
        p->slices = heap_zero(2, sizeof *p->slices);
        p->slices[0] = (struct profile_slice){ .ms = 1000, .change_first = 0, .change_count = 2 };
        p->slices[1] = (struct profile_slice){ .ms = 2000, .change_first = 2, .change_count = 2 };
        p->slice_count = 2;
}

static struct selection select_when(const struct profile *p, struct select_request request)
{
        struct symbols *s = forge_symbols(p);
        struct selection sel;
        struct err e = { 0 };

        is_true(select_make(&sel, p, s, &request, &e));
        symbols_free(s);
        return sel;
}

TEST(a_moment_shows_what_was_live_then)
{
        struct selection sel;
        struct profile p;

        forge_usual(&p);
        forge_slices(&p);
        sel = select_when(&p, (struct select_request){ .cost = SELECT_LIVE,
                                                       .at = { .type = MOMENT_TIME, .ms = 1500 } });
        is_equal(sel.heap.total_bytes, 700);
        is_equal(sel.heap.total_count, 7);
        is_equal(sel.heap.count, 2);
        select_free(&sel);
        profile_free(&p);
}

TEST(a_range_shows_what_was_added_and_what_went)
{
        struct selection sel;
        struct profile p;

        forge_usual(&p);
        forge_slices(&p);
        sel = select_when(&p, (struct select_request){ .cost = SELECT_TOTAL,
                                                       .from = { .type = MOMENT_TIME, .ms = 1000 },
                                                       .to = { .type = MOMENT_TIME, .ms = 9000 } });
        is_equal(sel.heap.total_bytes, 400);
        is_equal(sel.heap.total_count, 4);
        select_free(&sel);
        sel = select_when(&p, (struct select_request){ .cost = SELECT_LIVE,
                                                       .from = { .type = MOMENT_TIME, .ms = 1000 },
                                                       .to = { .type = MOMENT_TIME, .ms = 9000 } });
        is_equal(sel.heap.count, 2);
        is_equal(sel.heap.rows[0].bytes, 200);
        is_equal(sel.heap.rows[1].bytes, -100);
        select_free(&sel);
        profile_free(&p);
}

/* Two stacks below the C library's start code: main/parse in the program, main/qsort in the C
 * library; 10 and 20 bytes. */
static long long bytes_of_modules(enum filter_kind kind, const char *expression)
{
        struct select_request request = { .cost = SELECT_LIVE };
        struct filter f = { 0 };
        struct selection sel;
        struct err e = { 0 };
        struct profile p;
        struct symbols *s;
        uint32_t in_main;
        long long bytes;

        forge_start(&p);
        forge_module(&p, "/bin/prog");
        forge_module(&p, "/lib/libc.so.6");
        in_main = forge_node(&p, forge_node(&p, forge_node(&p, 0, 0x10, 0), 0x1020, 1), 0x30, 0);
        forge_site(&p, forge_node(&p, in_main, 0x40, 0), LEDGER_KIND_MALLOC, 10, 1);
        forge_site(&p, forge_node(&p, in_main, 0x1050, 1), LEDGER_KIND_MALLOC, 20, 1);
        s = forge_symbols(&p);
        is_true(filter_add(&f, kind, expression, &e));
        request.filter = &f;
        is_true(select_make(&sel, &p, s, &request, &e));
        bytes = (long long)sel.heap.total_bytes;
        select_free(&sel);
        filter_free(&f);
        symbols_free(s);
        profile_free(&p);
        return bytes;
}

TEST(modules_can_be_left_out)
{
        is_equal(bytes_of_modules(FILTER_NOT_MODULE, "libc"), 10);
        is_equal(bytes_of_modules(FILTER_NOT_MODULE, "prog$"), 0);
        is_equal(bytes_of_modules(FILTER_NOT_MODULE, "libX11"), 30);
}

TEST(start_code_belongs_to_no_module)
{
        is_equal(bytes_of_modules(FILTER_MODULE, "libc"), 20);
        is_equal(bytes_of_modules(FILTER_MODULE, "prog"), 30);
}

TEST(a_name_matches_with_its_parameters_or_without)
{
        struct expressions whole = { 0 }, bare = { 0 };
        struct err e = { 0 };

        is_true(expressions_add(&whole, "^ns::f\\(int\\) const$", &e) &&
                expressions_add(&bare, "^(ns::f|operator\\(\\)|C::g)$", &e));
        is_true(filter_matches(&whole, "ns::f(int) const") &&
                filter_matches(&bare, "ns::f(int) const"));
        is_true(!filter_matches(&whole, "ns::f") && filter_matches(&bare, "ns::f"));
        is_true(!filter_matches(&bare, "ns::f(int)::inner(int)"));
        is_true(filter_matches(&bare, "operator()") && filter_matches(&bare, "operator()(int)"));
        is_true(filter_matches(&bare, "C::g(int) const &") &&
                filter_matches(&bare, "C::g() volatile &&"));
        expressions_free(&whole);
        expressions_free(&bare);
}

TAP_MAIN(an_include_keeps_only_its_stacks, an_exclude_takes_its_stacks_away,
         the_innermost_matching_frame_decides, where_both_match_one_frame_exclude_wins,
         several_includes_are_a_choice, inlined_functions_are_frames,
         a_module_is_matched_by_its_path, what_is_no_expression_is_wrong_use,
         a_thread_is_seen_by_its_own_calls_and_blocks, a_moment_shows_what_was_live_then,
         a_range_shows_what_was_added_and_what_went, modules_can_be_left_out,
         start_code_belongs_to_no_module, a_name_matches_with_its_parameters_or_without)
