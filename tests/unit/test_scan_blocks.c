/* SPDX-License-Identifier: MIT */
/*
 * test_scan_blocks.c -- what was alive at a moment, from what was read before and after it.
 */
#include "scan/scan_blocks.h"

#include <stdlib.h>

#include "tap.h"

#define FIRST 0x700000000000ull
#define SECOND 0x700004000000ull /* the next arena of glibc begins 64 MiB further */
#define LATE SCAN_ENTRY_LATE

static const char maps[] = "700000000000-700000021000 rw-p 00000000 00:00 0 \n"
                           "700000021000-700004000000 ---p 00000000 00:00 0 \n"
                           "700004000000-700004021000 rw-p 00000000 00:00 0 \n"
                           "700004021000-700008000000 ---p 00000000 00:00 0 \n";

static struct scan_list choose(struct search_block *now, uint64_t now_count,
                               struct search_block *before, uint64_t before_count)
{
        struct scan_entries after = { .at = now, .count = now_count },
                            first = { .at = before, .count = before_count };
        struct scan_moment m = { .now = &after, .before = &first };
        struct mappings mappings = { 0 };
        struct scan_list list;

        mappings_parse(&mappings, maps);
        m.mappings = &mappings;
        scan_blocks(&m, &list);
        mappings_free(&mappings);
        return list;
}

static void list_free(struct scan_list *l)
{
        free(l->at);
        free(l->known);
}

TEST(what_was_there_before_and_still_is_is_certain)
{
        struct search_block block = { FIRST + 0x1000, 32, 0 };
        struct scan_list l = choose(&block, 1, &block, 1);

        is_equal(l.count, 1);
        is_equal(l.at[0].address, FIRST + 0x1000);
        is_equal(l.at[0].flags, 0);
        list_free(&l);
}

TEST(where_all_blocks_are_certain_what_was_read_is_the_list)
{
        struct search_block now[] = { { FIRST + 0x1000, 32, 0 },
                                      { FIRST + 0x2000, 32, SEARCH_BLOCK_IGNORED } };
        struct scan_list l = choose(now, 2, NULL, 0);

        is_true(l.at == now);
        is_equal(l.count, 2);
        is_true(!l.known);
}

/* Both arenas were used anew since the moment: nothing in either is certain, and each must be
 * searched. */
TEST(replaced_blocks_are_passages_in_each_mapping_of_its_own)
{
        struct search_block before[] = { { FIRST + 0xb70, 24, 0 }, { SECOND + 0xb70, 24, 0 } };
        struct search_block now[] = { { FIRST + 0xb70, 4, LATE },
                                      { FIRST + 0xfd0, 65, LATE },
                                      { SECOND + 0xb70, 4, LATE },
                                      { SECOND + 0xb90, 16, LATE } };
        struct scan_list l = choose(now, 4, before, 2);

        is_equal(l.count, 2);
        is_equal(l.at[0].address, FIRST + 0xb70);
        is_equal(l.at[0].address + l.at[0].size, FIRST + 0x21000);
        is_equal(l.at[1].address, SECOND + 0xb70);
        is_equal(l.at[1].address + l.at[1].size, SECOND + 0x21000);
        is_equal(l.at[1].flags, SEARCH_BLOCK_PASSAGE);
        list_free(&l);
}

TEST(a_passage_ends_at_a_certain_block_and_goes_on_behind_it)
{
        struct search_block sure = { FIRST + 0x2000, 64, 0 };
        struct search_block now[] = { { FIRST + 0x1000, 16, LATE },
                                      sure,
                                      { FIRST + 0x3000, 16, LATE } };
        struct scan_list l = choose(now, 3, &sure, 1);

        is_equal(l.count, 3);
        is_equal(l.at[0].size, 0x1000);
        is_equal(l.at[1].flags, 0);
        is_equal(l.at[2].address, FIRST + 0x3000);
        list_free(&l);
}

TEST(what_was_not_mapped_at_the_moment_held_nothing)
{
        struct search_block late = { 0x600000000010ull, 200000, LATE };
        struct scan_list l = choose(&late, 1, NULL, 0);

        is_equal(l.count, 0);
        list_free(&l);
}

TAP_MAIN(what_was_there_before_and_still_is_is_certain,
         where_all_blocks_are_certain_what_was_read_is_the_list,
         replaced_blocks_are_passages_in_each_mapping_of_its_own,
         a_passage_ends_at_a_certain_block_and_goes_on_behind_it,
         what_was_not_mapped_at_the_moment_held_nothing)
