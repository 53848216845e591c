/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include "forge.h"
#include "report/views.h"

static char *drawn(const struct profile *p, struct select_request request,
                   struct histogram_options options, bool sizes)
{
        struct symbols *s = forge_symbols(p);
        struct str out = { 0 };
        struct selection sel;
        struct err e = { 0 };

        is_true(select_make(&sel, p, s, &request, &e));
        (sizes ? histogram_sizes : histogram_lifetimes)(&sel, &options, &out);
        select_free(&sel);
        symbols_free(s);
        return out.data;
}

TEST(the_whole_process_has_exact_classes)
{
        struct profile p;
        char *text;

        forge_usual(&p);
        p.totals.sizes[0] = 5;
        p.totals.sizes[1] = 10; /* one byte */
        p.totals.sizes[7] = 85; /* 64 to 127 */
        text = drawn(&p, (struct select_request){ .cost = SELECT_TOTAL },
                     (struct histogram_options){ .whole = true }, true);
        has_text(text, "sizes of all allocations: 100 (each call, whole process)\n");
        has_text(text, "         0 B              5   5.0 % ###\n");
        has_text(text, "         1 B             10    10 % #####\n");
        has_text(text, "        32 B              0     0 %\n");
        has_text(text, "        64 B             85    85 % "
                       "############################################\n");
        is_true(!strstr(text, "128 B"));
        free(text);
        profile_free(&p);
}

TEST(blocks_not_freed_are_counted_one_by_one)
{
        struct filter f = { 0 };
        struct select_request request = { .cost = SELECT_LIVE, .filter = &f };
        struct err e = { 0 };
        struct profile p;
        char *text;

        forge_usual(&p);
        forge_block(&p, 0x1000, 100, FORGE_SITE_PARSE, 0, 0);
        forge_block(&p, 0x2000, 127, FORGE_SITE_PARSE, 0, 0);
        forge_block(&p, 0x3000, 128, FORGE_SITE_LOAD, 0, 0);
        forge_block(&p, 0x4000, 9999, FORGE_SITE_TINY, 0, 0);
        filter_add(&f, FILTER_EXCLUDE, "tiny", &e);
        text = drawn(&p, request, (struct histogram_options){ .filter = &f }, true);
        has_text(text, "sizes of blocks not freed: 3 of 355 B in all (each block)\n");
        has_text(text, "        64 B              2    67 %     227 B ");
        has_text(text, "       128 B              1    33 %     128 B ");
        is_true(!strstr(text, "KiB"));
        free(text);
        filter_free(&f);
        profile_free(&p);
}

TEST(a_part_of_the_stacks_is_shown_by_averages_and_says_so)
{
        struct filter f = { 0 };
        struct select_request request = { .cost = SELECT_TOTAL, .filter = &f };
        struct err e = { 0 };
        struct profile p;
        char *text;

        forge_usual(&p);
        p.sites[FORGE_SITE_PARSE].frees = 4;
        p.sites[FORGE_SITE_PARSE].lifetime_ms = 400;
        filter_add(&f, FILTER_INCLUDE, "^parse$", &e);
        text = drawn(&p, request, (struct histogram_options){ .filter = &f }, true);
        has_text(text, "sizes, allocated in total: 7 of 700 B in all (by the average size of each "
                       "stack)\n");
        /* both stacks: 100 bytes */
        has_text(text, "        64 B              7   100 %     700 B #");
        free(text);
        text = drawn(&p, request, (struct histogram_options){ .filter = &f }, false);
        has_text(text, "lifetimes of freed blocks: 4 (by the average lifetime of each stack)\n");
        has_text(text, "       64 ms              4   100 % #");
        has_text(text, "   not freed              7\n");
        free(text);
        filter_free(&f);
        profile_free(&p);
}

TEST(lifetimes_of_the_process_are_exact_and_tell_what_is_left)
{
        struct profile p;
        char *text;

        forge_usual(&p);
        p.totals.lifetimes[0] = 3;
        p.totals.lifetimes[11] = 1; /* 1024 ms and more */
        text = drawn(&p, (struct select_request){ .cost = SELECT_TOTAL },
                     (struct histogram_options){ .whole = true, .columns = 60 }, false);
        has_text(text, "lifetimes of freed blocks: 4 (each block, whole process)\n");
        has_text(text, "        0 ms              3    75 % ########################\n");
        has_text(text, "       1.0 s              1    25 % ########\n");
        has_text(text, "   not freed             16\n");
        free(text);
        profile_free(&p);
}

TEST(nothing_to_draw_is_no_bars)
{
        struct profile p;
        char *text;

        forge_start(&p);
        text = drawn(&p, (struct select_request){ .cost = SELECT_TOTAL },
                     (struct histogram_options){ .whole = true }, true);
        is_text(text, "sizes of all allocations: 0 (each call, whole process)\n");
        free(text);
        profile_free(&p);
}

TAP_MAIN(the_whole_process_has_exact_classes, blocks_not_freed_are_counted_one_by_one,
         a_part_of_the_stacks_is_shown_by_averages_and_says_so,
         lifetimes_of_the_process_are_exact_and_tell_what_is_left, nothing_to_draw_is_no_bars)
