/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include "forge_leaks.h"
#include "report/flat.h"
#include "report/group.h"

/* The flat list (or, with KIND, the table) of P, to be freed. */
static char *list_for(const struct profile *p, struct select_request request,
                      const struct flat_options *flat, enum group_kind kind)
{
        struct symbols *s = forge_symbols(p);
        struct str out = { 0 };
        struct selection sel;
        struct err e = { 0 };

        is_true(select_make(&sel, p, s, &request, &e));
        if (flat)
                flat_write(&sel, s, flat, &out);
        else
                group_write(&sel, s, &(struct group_options){ .kind = kind, .threshold = 1 }, &out);
        select_free(&sel);
        symbols_free(s);
        if (flat)
                forge_without_sites(out.data);
        return out.data;
}

static char *list_of(const struct profile *p, enum select_cost cost,
                     const struct flat_options *flat, enum group_kind kind)
{
        return list_for(p, (struct select_request){ .cost = cost }, flat, kind);
}

/* Two slices: at 100 ms parse has 900 bytes and load none, at 500 ms parse has 600 and load 200. */
static void forge_slices(struct profile *p)
{
        static const struct profile_change changes[] = { { FORGE_SITE_PARSE, 0, 900, 9, 9, 900 },
                                                         { FORGE_SITE_PARSE, 0, 600, 6, 9, 900 },
                                                         { FORGE_SITE_LOAD, 0, 200, 2, 3, 300 } };

        p->slices = heap_zero(2, sizeof *p->slices);
        p->slices[0] = (struct profile_slice){ .ms = 100, .change_first = 0, .change_count = 1 };
        p->slices[1] = (struct profile_slice){ .ms = 500, .change_first = 1, .change_count = 2 };
        p->slice_count = 2;
        p->changes = heap_zero(3, sizeof changes[0]);
        memcpy(p->changes, changes, sizeof changes);
        p->change_count = 3;
}

TEST(a_moment_is_named_and_only_what_is_known_of_it_is_shown)
{
        struct flat_options options = { .key = SORT_LIVE_BYTES };
        struct profile p;
        char *text;

        forge_usual(&p);
        forge_slices(&p);
        text = list_for(&p,
                        (struct select_request){ .cost = SELECT_LIVE,
                                                 .at = { .type = MOMENT_TIME, .ms = 500 } },
                        &options, GROUP_STACK);
        has_text(text, "heap: 2 stacks, live at 500 ms 800 B, until then 1.2 KiB by 12 calls\n");
        has_text(text,
                 "   1. 600 B        live at 500 ms, by malloc\n"
                 "      live at 500 ms 600 B in 6 blocks, until then 900 B by 9 calls, 3 freed\n");
        is_true(!strstr(text, "peak") && !strstr(text, "not freed") && !strstr(text, "lived"));
        free(text);
        profile_free(&p);
}

TEST(a_range_shows_also_what_became_less)
{
        struct select_request range = { .cost = SELECT_TOTAL,
                                        .from = { .type = MOMENT_TIME, .ms = 100 },
                                        .to = { .type = MOMENT_TIME, .ms = 500 } };
        struct flat_options options = { .key = SORT_ALLOC_BYTES };
        struct profile p;
        char *text;

        forge_usual(&p);
        forge_slices(&p);
        text = list_for(&p, range, &options, GROUP_STACK);
        has_text(text, "heap from 100 ms to 500 ms: 2 stacks, change -100 B, allocated 300 B by 3 "
                       "calls\n");
        has_text(text, "   1. 300 B        allocated from 100 ms to 500 ms, by malloc\n"
                       "      change 200 B in 2 blocks, allocated 300 B by 3 calls, 1 freed\n");
        has_text(text, "      change -300 B in -3 blocks, allocated 0 B by 0 calls, 3 freed\n");
        free(text);
        profile_free(&p);
}

TEST(stacks_come_largest_first_with_all_costs)
{
        struct profile p;
        char *text;

        forge_usual(&p);
        p.sites[FORGE_SITE_LOAD].allocs = 7;
        p.sites[FORGE_SITE_LOAD].frees = 5;
        p.sites[FORGE_SITE_LOAD].lifetime_ms = 10000;
        p.sites[FORGE_SITE_LOAD].temporary = 4;
        text = list_of(&p, SELECT_LIVE,
                       &(struct flat_options){ .key = SORT_LIVE_BYTES, .limit = 2 }, GROUP_STACK);
        is_text(text, "heap: 6 stacks, not freed 1000 B, in all 1000 B by 21 calls\n"
                      "\n"
                      "   1. 600 B        not freed, by malloc\n"
                      "      not freed 600 B in 6 blocks, in all 600 B by 6 calls, 0 freed\n"
                      "        parse [/src/a.c:10]\n"
                      "        load [/src/l.c:7]\n"
                      "        main [/src/m.c:1]\n"
                      "\n"
                      "   2. 200 B        not freed, by malloc\n"
                      "      not freed 200 B in 2 blocks, in all 200 B by 7 calls, 5 freed,\n"
                      "      4 temporary, lived 2.0 s, 29 % alive\n"
                      "        load [/src/l.c:7]\n"
                      "        main [/src/m.c:1]\n"
                      "\n"
                      "      4 more stacks (-n 2)\n\n"
                      "mapped by mmap: 1 stack, not freed 4.0 KiB, in all 4.0 KiB by 1 call\n"
                      "\n"
                      "   1. 4.0 KiB      not freed, by mmap\n"
                      "      not freed 4.0 KiB in 1 block, in all 4.0 KiB by 1 call, 0 freed\n"
                      "        load [/src/l.c:7]\n"
                      "        main [/src/m.c:1]\n"
                      "\n");
        free(text);
        profile_free(&p);
}

TEST(stacks_that_are_not_listed_are_counted)
{
        struct profile p;
        char *text;

        forge_usual(&p);
        p.sites[FORGE_SITE_LOAD].peak_bytes = 50;
        p.sites[FORGE_SITE_PARSE].peak_bytes = 60;
        text = list_of(&p, SELECT_PEAK,
                       &(struct flat_options){ .key = SORT_PEAK_BYTES, .limit = 1 }, GROUP_STACK);
        has_text(text, "\n\n      1 more stack (-n 1)\n      4 more held nothing then\n");
        free(text);
        p.sites[FORGE_SITE_LOAD].live_bytes = p.sites[FORGE_SITE_LOAD].live_blocks = 0;
        text = list_of(&p, SELECT_LIVE, &(struct flat_options){ .key = SORT_LIVE_BYTES },
                       GROUP_STACK);
        has_text(text, "\n\n      1 more holds nothing\n");
        free(text);
        profile_free(&p);
}

TEST(colour_does_not_move_columns)
{
        struct profile p;
        char *text;

        forge_usual(&p);
        text = list_of(&p, SELECT_LIVE,
                       &(struct flat_options){ .key = SORT_LIVE_BYTES, .color = 1 }, GROUP_STACK);
        has_text(text, "   1. \033[1m600 B\033[0m        not freed, by malloc\n");
        free(text);
        profile_free(&p);
}

TEST(sizes_of_the_blocks_not_freed_are_told)
{
        struct profile p;
        char *text;

        forge_usual(&p);
        forge_block(&p, 0x1000, 50, FORGE_SITE_PARSE, 0, 0);
        for (int i = 0; i < 4; i++)
                forge_block(&p, 0x2000 + 0x100 * (uint64_t)i, 90, FORGE_SITE_PARSE, 0, 0);
        forge_block(&p, 0x3000, 190, FORGE_SITE_PARSE, 0, 0);
        forge_block(&p, 0x4000, 100, FORGE_SITE_LOAD, 0, 0);
        forge_block(&p, 0x5000, 100, FORGE_SITE_LOAD, 0, 0);
        text = list_of(&p, SELECT_LIVE, &(struct flat_options){ .key = SORT_LIVE_BYTES },
                       GROUP_STACK);
        has_text(text,
                 "      blocks of 50 B to 190 B (average 100 B)\n        parse [/src/a.c:10]\n");
        has_text(text, "0 freed,\n      blocks of 100 B\n        load [/src/l.c:7]\n");
        free(text);
        profile_free(&p);
}

TEST(equal_values_are_ordered_by_the_next_of_their_kind)
{
        struct profile p;
        char *text;

        forge_usual(&p);
        p.sites[FORGE_SITE_TINY].allocs = p.sites[FORGE_SITE_SMALL].allocs = 50;
        p.sites[FORGE_SITE_TINY].alloc_bytes = 10;
        p.sites[FORGE_SITE_SMALL].alloc_bytes = 20;
        text = list_of(&p, SELECT_ALLOCS, &(struct flat_options){ .key = SORT_ALLOCS, .limit = 2 },
                       GROUP_STACK);
        is_true(strstr(text, "small [") && strstr(text, "small [") < strstr(text, "        tiny"));
        free(text);
        profile_free(&p);
}

TEST(keys_order_by_what_they_say)
{
        struct profile p;
        char *text;

        forge_usual(&p);
        forge_block(&p, 0x1000, 4, FORGE_SITE_TINY, 0, 1000);
        forge_block(&p, 0x2000, 1, FORGE_SITE_SMALL, 0, 9000);
        text = list_of(&p, SELECT_LIVE, &(struct flat_options){ .key = SORT_AGE }, GROUP_STACK);
        has_text(text, "   1. 9,000        ms: age of the oldest block, by malloc\n");
        has_text(text, "   2. 1,000        ms: age of the oldest block, by malloc\n");
        is_true(!strstr(text, "   3. "));
        free(text);
        text = list_of(&p, SELECT_LIVE, &(struct flat_options){ .key = SORT_AVERAGE, .limit = 1 },
                       GROUP_STACK);
        has_text(text, "   1. 100 B        average size of blocks not freed, by malloc\n");
        free(text);
        p.errors = heap_zero(1, sizeof *p.errors);
        p.errors[0] = (struct profile_error){ .type = LEDGER_ERROR_DOUBLE_FREE,
                                              .alloc_site = FORGE_SITE_INNER,
                                              .count = 3 };
        p.error_count = 1;
        text = list_of(&p, SELECT_LIVE, &(struct flat_options){ .key = SORT_BAD_FREES },
                       GROUP_STACK);
        has_text(text, "   1. 3            invalid frees, by new\n");
        has_text(text, "        inner [/src/w.c:61] (inlined)\n        work [/src/w.c:66]\n");
        free(text);
        profile_free(&p);
}

TEST(groups_sum_by_function_file_and_module)
{
        struct profile p;
        char *text;

        forge_usual(&p);
        text = list_of(&p, SELECT_LIVE, NULL, GROUP_FUNCTION);
        has_text(text, "not freed, by function: 1,000B\n  70.00%  700B, 7x                   "
                       "parse\n  20.00%  200B, 2x "
                       "                  load\n");
        has_text(text, "   0.70%  7B, 4x                     (2 more)\n");
        free(text);
        text = list_of(&p, SELECT_LIVE, NULL, GROUP_FILE);
        has_text(text, "  70.00%  700B, 7x                   /src/a.c\n");
        free(text);
        text = list_of(&p, SELECT_LIVE, NULL, GROUP_MODULE);
        has_text(text, " 100.00%  1,000B, 16x                /usr/bin/prog\n");
        free(text);
        profile_free(&p);
}

TEST(groups_of_threads_and_sizes_come_from_blocks)
{
        struct profile p;
        char *text;

        forge_usual(&p);
        forge_thread(&p, 5, "pool");
        forge_thread(&p, 6, "pool");
        forge_block(&p, 0x1000, 16, FORGE_SITE_TINY, 1, 0);
        forge_block(&p, 0x2000, 17, FORGE_SITE_TINY, 2, 0);
        forge_block(&p, 0x3000, 31, FORGE_SITE_TINY, 0, 0);
        text = list_of(&p, SELECT_LIVE, NULL, GROUP_SIZE);
        has_text(text, "  75.00%  48B, 2x                    up to 32 B\n  25.00%  16B, 1x         "
                       "           up to 16 B\n");
        free(text);
        text = list_of(&p, SELECT_LIVE, NULL, GROUP_THREAD);
        has_text(text, "  51.56%  33B, 2x                    pool\n");
        free(text);
        profile_free(&p);
}

TEST(leaks_order_by_what_is_lost_with_its_group)
{
        struct profile p;
        struct symbols *s;
        struct selection sel;
        struct leaks l;
        struct err e = { 0 };
        struct flat_options options = { .key = SORT_LEAKED_BYTES, .leaks = &l };
        struct str out = { 0 };

        forge_leaky(&p);
        s = forge_symbols(&p);
        is_true(select_make(&sel, &p, s, &(struct select_request){ .cost = SELECT_LIVE }, &e));
        leaks_make_usual(&l, &sel, s);
        flat_write(&sel, s, &options, &out);
        has_text(out.data, ", by malloc, site #");
        forge_without_sites(out.data);
        has_text(out.data, "   1. 300 B        lost, by malloc\n");
        has_text(out.data, "   2. 200 B        lost, by malloc\n");
        has_text(out.data, "   3. 100 B        lost, by calloc\n");
        has_text(out.data, "3 more have none\n");
        leaks_free(&l);
        select_free(&sel);
        symbols_free(s);
        profile_free(&p);
        str_free(&out);
}

TAP_MAIN(leaks_order_by_what_is_lost_with_its_group, stacks_come_largest_first_with_all_costs,
         a_moment_is_named_and_only_what_is_known_of_it_is_shown,
         a_range_shows_also_what_became_less, stacks_that_are_not_listed_are_counted,
         colour_does_not_move_columns, sizes_of_the_blocks_not_freed_are_told,
         equal_values_are_ordered_by_the_next_of_their_kind, keys_order_by_what_they_say,
         groups_sum_by_function_file_and_module, groups_of_threads_and_sizes_come_from_blocks)
