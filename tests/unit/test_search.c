/* SPDX-License-Identifier: MIT */
/*
 * test_search.c -- the search for pointers: each rule in a memory made by hand, then random heaps
 * against a slow and simple search.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "leak/destinations.h"
#include "leak/run.h"
#include "leak/search.h"
#include "scene.h"
#include "scene_slow.h"
#include "tap.h"

#define HEAP SCENE_HEAP
#define ROOT SCENE_ROOT

TEST(a_pointer_to_the_start_makes_a_block_reachable)
{
        struct scene s = scene_begin();
        uint32_t a = scene_block(&s, HEAP, 32), b = scene_block(&s, HEAP + 64, 32);

        scene_word(&s, ROOT, HEAP);
        scene_search(&s);
        is_equal(s.g.leak[a], PROFILE_LEAK_REACHABLE);
        is_equal(s.g.leak[b], PROFILE_LEAK_DEFINITE);
        is_equal(s.g.hold_count, 1);
        is_equal(s.g.holds[0].at, ROOT);
        scene_end(&s);
}

TEST(an_interior_pointer_makes_a_block_possible_and_one_past_the_end_is_none)
{
        struct scene s = scene_begin();
        uint32_t a = scene_block(&s, HEAP, 40), b = scene_block(&s, HEAP + 64, 40);

        scene_word(&s, ROOT, HEAP + 39);
        scene_word(&s, ROOT + 8, HEAP + 64 + 40);
        scene_search(&s);
        is_equal(s.g.leak[a], PROFILE_LEAK_POSSIBLE);
        is_equal(s.g.leak[b], PROFILE_LEAK_DEFINITE);
        scene_end(&s);
}

TEST(a_block_of_no_bytes_is_held_by_its_address)
{
        struct scene s = scene_begin();
        uint32_t a = scene_block(&s, HEAP, 0), b = scene_block(&s, HEAP + 32, 0);

        scene_word(&s, ROOT, HEAP);
        scene_word(&s, ROOT + 8, HEAP + 33);
        scene_search(&s);
        is_equal(s.g.leak[a], PROFILE_LEAK_REACHABLE);
        is_equal(s.g.leak[b], PROFILE_LEAK_DEFINITE);
        scene_end(&s);
}

TEST(what_a_possible_block_holds_is_possible_until_a_better_pointer_is_found)
{
        struct scene s = scene_begin();
        uint32_t a = scene_block(&s, HEAP, 32), b = scene_block(&s, HEAP + 64, 32),
                 c = scene_block(&s, HEAP + 128, 32);

        scene_word(&s, ROOT, HEAP + 8);
        scene_word(&s, HEAP, HEAP + 64);
        scene_word(&s, HEAP + 64, HEAP + 128);
        scene_search(&s);
        is_equal(s.g.leak[b], PROFILE_LEAK_POSSIBLE);
        is_equal(s.g.leak[c], PROFILE_LEAK_POSSIBLE);
        scene_word(&s, ROOT + 8, HEAP + 64);
        scene_search(&s);
        is_equal(s.g.leak[a], PROFILE_LEAK_POSSIBLE);
        is_equal(s.g.leak[b], PROFILE_LEAK_REACHABLE);
        is_equal(s.g.leak[c], PROFILE_LEAK_REACHABLE);
        scene_end(&s);
}

/* The list runs from high to low, so every block is thought to be a head until the next one is
 * looked at. */
TEST(a_lost_list_has_one_head_wherever_it_lies)
{
        struct scene s = scene_begin();

        for (uint32_t i = 0; i < 20; i++) {
                scene_block(&s, HEAP + 32 * i, 32);
                if (i)
                        scene_word(&s, HEAP + 32 * i, HEAP + 32 * (i - 1));
        }
        scene_search(&s);
        for (uint32_t i = 0; i < 19; i++) {
                is_equal(s.g.leak[i], PROFILE_LEAK_INDIRECT);
                is_equal(s.g.head[i], 20);
        }
        is_equal(s.g.leak[19], PROFILE_LEAK_DEFINITE);
        is_equal(s.g.head[19], 0);
        scene_end(&s);
}

TEST(a_lost_cycle_has_one_head)
{
        struct scene s = scene_begin();

        for (uint32_t i = 0; i < 5; i++) {
                scene_block(&s, HEAP + 32 * i, 32);
                scene_word(&s, HEAP + 32 * i, HEAP + 32 * ((i + 2) % 5));
        }
        scene_search(&s);
        is_equal(s.g.leak[0], PROFILE_LEAK_DEFINITE);
        for (uint32_t i = 1; i < 5; i++)
                is_equal(s.g.head[i], 1);
        scene_end(&s);
}

/* Rings of three blocks, each of three places, that lie in another order in each ring, and a
 * block that hangs on each; on the last ring none hangs, but it is held by one. */
TEST(rings_of_one_make_have_heads_of_one_place)
{
        static const uint32_t orders[][3] = { { 3, 2, 1 }, { 2, 1, 3 }, { 1, 3, 2 }, { 3, 1, 2 } };
        struct scene s = scene_begin();

        for (uint32_t i = 0; i < 4; i++) {
                uint64_t start = HEAP + 256 * i, at[4];

                for (uint32_t k = 0; k < 3; k++) {
                        at[orders[i][k]] = start + 64 * k;
                        s.places[scene_block(&s, start + 64 * k, 32)] = orders[i][k];
                }
                for (uint32_t place = 1; place <= 3; place++)
                        scene_word(&s, at[place], at[place % 3 + 1]);
                s.places[scene_block(&s, start + 192, 32)] = 4;
                scene_word(&s, i == 3 ? start + 192 : start + 8, i == 3 ? start : start + 192);
        }
        scene_search(&s);
        for (uint32_t i = 0; i < s.block_count; i++) {
                bool is_head = i < 12 ? s.places[i] == 1 : s.places[i] == 4;

                is_equal(s.g.leak[i], is_head ? PROFILE_LEAK_DEFINITE : PROFILE_LEAK_INDIRECT);
                is_equal(s.g.head[i] == 0, is_head);
                is_true(is_head || (s.g.head[i] - 1) / 4 == i / 4);
        }
        scene_end(&s);
}

TEST(a_block_that_holds_only_itself_is_lost_and_has_no_link)
{
        struct scene s = scene_begin();

        scene_block(&s, HEAP, 32);
        scene_word(&s, HEAP + 8, HEAP);
        scene_search(&s);
        is_equal(s.g.leak[0], PROFILE_LEAK_DEFINITE);
        is_equal(s.g.link_count, 0);
        scene_end(&s);
}

TEST(words_between_blocks_hold_nothing)
{
        struct scene s = scene_begin();

        scene_block(&s, HEAP, 16);
        scene_block(&s, HEAP + 32, 16);
        scene_word(&s, HEAP + 16, HEAP + 32);
        scene_word(&s, ROOT, HEAP);
        scene_search(&s);
        is_equal(s.g.leak[1], PROFILE_LEAK_DEFINITE);
        scene_end(&s);
}

TEST(words_of_a_root_inside_blocks_are_the_blocks)
{
        struct scene s = scene_begin();

        scene_block(&s, HEAP + 64, 32);
        scene_block(&s, HEAP + 128, 32);
        scene_root(&s, HEAP, HEAP + 256, 0);
        scene_word(&s, HEAP + 64, HEAP + 128);
        scene_search(&s);
        is_equal(s.g.leak[0], PROFILE_LEAK_DEFINITE);
        is_equal(s.g.leak[1], PROFILE_LEAK_INDIRECT);
        scene_word(&s, HEAP + 32, HEAP + 64);
        scene_search(&s);
        is_equal(s.g.leak[1], PROFILE_LEAK_REACHABLE);
        is_equal(s.g.hold_count, 1);
        is_equal(s.g.holds[0].at, HEAP + 32);
        scene_end(&s);
}

TEST(a_block_of_no_bytes_cuts_no_word)
{
        struct scene s = scene_begin();
        uint32_t empty = scene_block(&s, HEAP + 12, 0), held = scene_block(&s, HEAP + 64, 32);

        scene_root(&s, HEAP, HEAP + 64, 0);
        scene_word(&s, HEAP + 8, HEAP + 64);
        scene_search(&s);
        is_equal(s.g.leak[empty], PROFILE_LEAK_DEFINITE);
        is_equal(s.g.leak[held], PROFILE_LEAK_REACHABLE);
        scene_end(&s);
}

TEST(registers_hold_blocks_and_are_known_by_number)
{
        static const uint64_t words[] = { 1, HEAP, 0, HEAP + 64 + 8 };
        struct scene s = scene_begin();

        scene_block(&s, HEAP, 32);
        scene_block(&s, HEAP + 64, 32);
        scene_registers(&s, 5, words, 4);
        scene_search(&s);
        is_equal(s.g.leak[0], PROFILE_LEAK_REACHABLE);
        is_equal(s.g.leak[1], PROFILE_LEAK_POSSIBLE);
        is_equal(s.g.holds[0].at, 8 * 6);
        is_equal(s.g.holds[0].root, s.root_count - 1);
        scene_end(&s);
}

TEST(a_whole_root_counts_interior_pointers_as_pointers_to_the_start)
{
        struct scene s = scene_begin();

        scene_block(&s, HEAP, 256);
        scene_roots_clear(&s);
        scene_root(&s, ROOT, ROOT + 64, SEARCH_ROOT_WHOLE);
        scene_word(&s, ROOT, HEAP + 128);
        scene_search(&s);
        is_equal(s.g.leak[0], PROFILE_LEAK_REACHABLE);
        scene_end(&s);
}

TEST(a_pointer_leads_to_the_innermost_block_and_that_holds_its_arena)
{
        struct scene s = scene_begin();
        uint32_t arena = scene_block(&s, HEAP, 256), a = scene_block(&s, HEAP, 32),
                 b = scene_block(&s, HEAP + 64, 32);

        scene_word(&s, ROOT, HEAP + 64);
        scene_search(&s);
        is_equal(s.g.leak[arena], PROFILE_LEAK_REACHABLE);
        is_equal(s.g.leak[a], PROFILE_LEAK_DEFINITE);
        is_equal(s.g.leak[b], PROFILE_LEAK_REACHABLE);
        scene_word(&s, ROOT, HEAP + 48); /* neither of the two */
        scene_search(&s);
        is_equal(s.g.leak[arena], PROFILE_LEAK_POSSIBLE);
        is_equal(s.g.leak[b], PROFILE_LEAK_DEFINITE);
        scene_end(&s);
}

TEST(words_of_a_carved_block_are_not_its_arenas)
{
        struct scene s = scene_begin();
        uint32_t arena = scene_block(&s, HEAP, 128), carved = scene_block(&s, HEAP + 32, 32),
                 x = scene_block(&s, HEAP + 256, 16);

        scene_word(&s, ROOT, HEAP);
        scene_word(&s, HEAP + 40, HEAP + 256);
        scene_search(&s);
        is_equal(s.g.leak[arena], PROFILE_LEAK_REACHABLE);
        is_equal(s.g.leak[carved], PROFILE_LEAK_DEFINITE);
        is_equal(s.g.leak[x], PROFILE_LEAK_INDIRECT);
        is_equal(s.g.head[x], carved + 1);
        is_equal(s.g.first[carved + 1] - s.g.first[carved], 2);
        is_equal(s.g.links[s.g.first[carved]].at, 1);
        is_equal(s.g.links[s.g.first[carved] + 1].at, SEARCH_AT_ARENA);
        scene_end(&s);
}

TEST(links_of_an_arena_are_together_though_its_words_are_not)
{
        struct scene s = scene_begin();
        uint32_t arena = scene_block(&s, HEAP, 128), carved = scene_block(&s, HEAP + 32, 32),
                 x = scene_block(&s, HEAP + 256, 16);

        scene_word(&s, HEAP, HEAP + 256);
        scene_word(&s, HEAP + 32, HEAP + 256);
        scene_word(&s, HEAP + 96, HEAP + 256);
        scene_search(&s);
        is_equal(s.g.first[arena + 1] - s.g.first[arena], 2);
        is_equal(s.g.links[0].at, 0);
        is_equal(s.g.links[1].at, 96 / 8);
        is_equal(s.g.first[carved + 1] - s.g.first[carved], 2);
        is_equal(s.g.first[x + 1], s.g.link_count);
        scene_end(&s);
}

TEST(a_page_that_cannot_be_read_counts_as_empty)
{
        struct scene s = scene_begin();

        scene_block(&s, HEAP, 3 * 4096);
        for (uint32_t i = 0; i < 3; i++)
                scene_block(&s, HEAP + 4 * 4096 + 32 * i, 32);
        for (uint32_t i = 0; i < 3; i++)
                scene_word(&s, HEAP + 4096 * i + 8, HEAP + 4 * 4096 + 32 * i);
        scene_word(&s, ROOT, HEAP);
        scene_hide(&s, HEAP + 4096);
        scene_search(&s);
        is_equal(s.g.leak[1], PROFILE_LEAK_REACHABLE);
        is_equal(s.g.leak[2], PROFILE_LEAK_DEFINITE);
        is_equal(s.g.leak[3], PROFILE_LEAK_REACHABLE);
        scene_end(&s);
}

TEST(an_ignored_block_is_a_root)
{
        struct scene s = scene_begin();

        scene_block(&s, HEAP, 32);
        scene_block(&s, HEAP + 64, 32);
        s.blocks[0].flags = SEARCH_BLOCK_IGNORED;
        scene_word(&s, HEAP + 8, HEAP + 64);
        scene_search(&s);
        is_equal(s.g.leak[0], PROFILE_LEAK_REACHABLE);
        is_equal(s.g.leak[1], PROFILE_LEAK_REACHABLE);
        scene_end(&s);
}

TEST(pointers_go_through_a_passage)
{
        struct scene s = scene_begin();

        scene_block(&s, HEAP, 32);
        scene_block(&s, HEAP + 64, 32);
        s.blocks[0].flags = SEARCH_BLOCK_PASSAGE;
        scene_word(&s, ROOT, HEAP);
        scene_word(&s, HEAP, HEAP + 64);
        scene_search(&s);
        is_equal(s.g.leak[1], PROFILE_LEAK_REACHABLE);
        scene_end(&s);
}

TEST(a_pointer_anywhere_into_an_inner_block_is_one_to_its_start)
{
        struct scene s = scene_begin();
        uint32_t a = scene_block(&s, HEAP, 64), b = scene_block(&s, HEAP + 64, 64),
                 c = scene_block(&s, HEAP + 128, 64);

        s.blocks[a].flags = s.blocks[b].flags = SEARCH_BLOCK_INNER;
        scene_word(&s, ROOT, HEAP + 32);
        scene_word(&s, HEAP + 32, HEAP + 128 + 32);
        scene_search(&s);
        is_equal(s.g.leak[a], PROFILE_LEAK_REACHABLE);
        is_equal(s.g.leak[b], PROFILE_LEAK_DEFINITE);
        is_equal(s.g.leak[c], PROFILE_LEAK_POSSIBLE);
        scene_end(&s);
}

TEST(what_only_an_unheld_passage_holds_is_possible_and_the_passage_is_nothing)
{
        struct scene s = scene_begin();

        for (uint32_t i = 0; i < 5; i++)
                scene_block(&s, HEAP + 64 * i, 32);
        s.blocks[1].flags = s.blocks[3].flags = SEARCH_BLOCK_PASSAGE;
        scene_word(&s, HEAP, HEAP + 64);            /* lost block 0 -> passage 1 */
        scene_word(&s, HEAP + 64, HEAP + 128);      /* -> block 2 -> passage 3 -> block 4 */
        scene_word(&s, HEAP + 128, HEAP + 192);
        scene_word(&s, HEAP + 192, HEAP + 256 + 8);
        scene_search(&s);
        is_equal(s.g.leak[0], PROFILE_LEAK_DEFINITE);
        is_equal(s.g.leak[1], PROFILE_LEAK_UNKNOWN);
        is_equal(s.g.leak[2], PROFILE_LEAK_POSSIBLE);
        is_equal(s.g.leak[3], PROFILE_LEAK_UNKNOWN);
        is_equal(s.g.leak[4], PROFILE_LEAK_POSSIBLE);
        scene_end(&s);
}

TEST(unaligned_pointers_are_found_on_request_also_across_pieces)
{
        struct scene s = scene_begin();
        uint64_t far = HEAP + SCENE_BYTES - 64;

        scene_block(&s, HEAP, SCENE_BYTES - 128);
        scene_block(&s, far, 32);
        scene_word(&s, ROOT, HEAP);
        for (uint64_t at = (1u << 18) - 7; at < 1u << 18; at++) {
                scene_word(&s, HEAP + at, far);
                s.unaligned = false;
                scene_search(&s);
                is_equal(s.g.leak[1], PROFILE_LEAK_DEFINITE);
                s.unaligned = true;
                scene_search(&s);
                is_equal(s.g.leak[1], PROFILE_LEAK_REACHABLE);
                is_equal(s.g.link_count, 1);
                is_equal((uint64_t)s.g.links[0].at * s.g.unit, at);
                scene_word(&s, HEAP + at, 0);
        }
        scene_end(&s);
}

TEST(unused_pages_of_large_blocks_are_not_read)
{
        struct scene s = scene_begin();
        uint64_t far = HEAP + SCENE_BYTES - 64;

        scene_block(&s, HEAP, SCENE_BYTES - 128);
        scene_block(&s, far, 32);
        scene_word(&s, ROOT, HEAP);
        scene_word(&s, HEAP + SCENE_BYTES / 2 + 8, far);
        s.skip_unused = true;
        scene_search(&s);
        is_equal(s.g.leak[1], PROFILE_LEAK_REACHABLE);
        is_true(s.g.heap_bytes < SCENE_BYTES / 4);
        scene_end(&s);
}

TEST(heaps_far_apart_are_searched_alike)
{
        static const uint64_t words[] = { 0x555555560010, 0x7ffff7000000 + (UINT64_C(3) << 30),
                                          0x7ffff6ffffff, 0x600000000000, 0x100000 };
        struct search_block blocks[] = {
                { .address = 0x555555560000, .size = 64 },
                { .address = 0x7ffff7000000, .size = UINT64_C(4) << 30 },
                { .address = 0x800100000000, .size = 16 },
        };
        struct search_root root = { .start = 0, .end = sizeof words, .words = words };
        struct search_input in = { .memory = scene_nothing(),
                                   .blocks = blocks,
                                   .block_count = 3,
                                   .roots = &root,
                                   .root_count = 1 };
        struct search_graph g;

        search_run(&in, &g);
        is_equal(g.hold_count, 2);
        is_equal(SEARCH_LINK_TO(g.holds[0]), 0);
        is_equal(SEARCH_LINK_TO(g.holds[1]), 1);
        is_equal(g.leak[2], PROFILE_LEAK_DEFINITE);
        search_graph_free(&g);
}

TEST(no_blocks_and_no_roots_are_no_trouble)
{
        struct search_input in = { .memory = scene_nothing() };
        struct search_graph g;

        search_run(&in, &g);
        is_equal(g.link_count, 0);
        is_equal(g.first[0], 0);
        search_graph_free(&g);
}

TEST(the_first_word_of_an_object_tells_its_class)
{
        struct scene s = scene_begin();

        scene_block(&s, HEAP, 32);
        scene_block(&s, HEAP + 64, 32);
        scene_word(&s, HEAP, SCENE_CODE + 64);
        scene_word(&s, HEAP + 64, SCENE_CODE - 8);
        scene_word(&s, HEAP + 72, SCENE_CODE + 64);
        scene_search(&s);
        is_equal(s.g.vtables[0], SCENE_CODE + 64);
        is_equal(s.g.vtables[1], 0);
        scene_end(&s);
}

/* One block at HEAP with its first two words, held by a pointer to OFFSET. */
static int class_with(uint64_t size, uint64_t first, uint64_t second, uint64_t offset)
{
        struct scene s = scene_begin();
        int leak;

        scene_block(&s, HEAP, size);
        scene_word(&s, HEAP, first);
        scene_word(&s, HEAP + 8, second);
        scene_word(&s, ROOT, HEAP + offset);
        scene_search(&s);
        leak = s.g.leak[0];
        is_equal(s.g.idiom[0], leak == PROFILE_LEAK_REACHABLE);
        is_equal(!(s.g.holds[0].to & SEARCH_LINK_IDIOM), leak != PROFILE_LEAK_REACHABLE);
        s.no_idioms = true;
        scene_search(&s);
        is_equal(s.g.leak[0], PROFILE_LEAK_POSSIBLE);
        scene_end(&s);
        return leak;
}

TEST(old_strings_are_held_by_their_text)
{
        is_equal(class_with(25 + 11, 7, 11, 24), PROFILE_LEAK_REACHABLE);
        is_equal(class_with(25 + 3, 3, 3, 24), PROFILE_LEAK_REACHABLE);
        is_equal(class_with(25 + 11, 12, 11, 24), PROFILE_LEAK_POSSIBLE);
        is_equal(class_with(25 + 12, 7, 11, 24), PROFILE_LEAK_POSSIBLE);
        is_equal(class_with(25 + 11, 7, 11, 16), PROFILE_LEAK_POSSIBLE);
}

TEST(blocks_that_begin_with_their_length_are_held_by_what_follows)
{
        is_equal(class_with(108, 100, 0, 8), PROFILE_LEAK_REACHABLE);
        is_equal(class_with(108, 99, 0, 8), PROFILE_LEAK_POSSIBLE);
        is_equal(class_with(108, 100, 0, 16), PROFILE_LEAK_POSSIBLE);
}

TEST(arrays_with_a_count_are_held_by_their_first_element)
{
        is_equal(class_with(8 + 5 * 24, 5, 0, 8), PROFILE_LEAK_REACHABLE);
        is_equal(class_with(8 + 5 * 24, 7, 0, 8), PROFILE_LEAK_POSSIBLE);
        is_equal(class_with(8 + 5 * 24, 0, 0, 8), PROFILE_LEAK_POSSIBLE);
        is_equal(class_with(8 + 5 * 24, 5, 0, 32), PROFILE_LEAK_POSSIBLE);
}

/* Tables at SCENE_CODE (two functions), + 512 (one, then a number) and + 2048 (one); functions are
 * between. */
static int class_of_object(uint64_t first, uint64_t inner)
{
        struct scene s = scene_begin();
        int leak;

        scene_block(&s, HEAP, 64);
        scene_word(&s, HEAP, first);
        scene_word(&s, HEAP + 32, inner);
        scene_word(&s, ROOT, HEAP + 32);
        scene_word(&s, SCENE_CODE, SCENE_CODE + 0x400);
        scene_word(&s, SCENE_CODE + 16, SCENE_CODE + 0x500);
        scene_word(&s, SCENE_CODE + 24, 77);
        scene_word(&s, SCENE_CODE + 512, SCENE_CODE + 0x400);
        scene_word(&s, SCENE_CODE + 520, 77);
        scene_word(&s, SCENE_CODE + 2048, SCENE_CODE + 0x400);
        scene_search(&s);
        leak = s.g.leak[0];
        scene_end(&s);
        return leak;
}

TEST(objects_are_held_by_their_second_base_class)
{
        is_equal(class_of_object(SCENE_CODE, SCENE_CODE), PROFILE_LEAK_REACHABLE);
        is_equal(class_of_object(SCENE_CODE, SCENE_CODE + 512), PROFILE_LEAK_POSSIBLE);
        is_equal(class_of_object(SCENE_CODE + 512, SCENE_CODE), PROFILE_LEAK_POSSIBLE);
        is_equal(class_of_object(SCENE_CODE, SCENE_CODE + 2048), PROFILE_LEAK_POSSIBLE);
        /* all zero */
        is_equal(class_of_object(SCENE_CODE, SCENE_CODE + 1024), PROFILE_LEAK_POSSIBLE);
        is_equal(class_of_object(SCENE_CODE, SCENE_CODE + 4), PROFILE_LEAK_POSSIBLE);
        is_equal(class_of_object(0, SCENE_CODE), PROFILE_LEAK_POSSIBLE);
        is_equal(class_of_object(SCENE_CODE, HEAP), PROFILE_LEAK_POSSIBLE);
}

TEST(an_idiom_in_a_register_and_one_in_a_block_count_too)
{
        static const uint64_t words[] = { HEAP + 8 };
        struct scene s = scene_begin();

        scene_block(&s, HEAP, 48);
        scene_block(&s, HEAP + 64, 48);
        scene_registers(&s, 0, words, 1);
        scene_word(&s, HEAP, 40);
        scene_word(&s, HEAP + 64, 40);
        scene_word(&s, HEAP + 24, HEAP + 72);
        scene_search(&s);
        is_equal(s.g.leak[0], PROFILE_LEAK_REACHABLE);
        is_equal(s.g.leak[1], PROFILE_LEAK_REACHABLE);
        is_true(s.g.links[0].to & SEARCH_LINK_IDIOM);
        scene_word(&s, HEAP + 32, HEAP + 64); /* a better pointer */
        scene_search(&s);
        is_equal(s.g.idiom[0], 1);
        is_equal(s.g.idiom[1], 0);
        scene_end(&s);
}

static void tell(struct progress *p, uint64_t done, uint64_t all);

static struct {
        struct progress progress;
        uint64_t last, all, calls, backwards;
} told = { .progress = { .tell = tell } };

static void tell(struct progress *p, uint64_t done, uint64_t all)
{
        is_true(p == &told.progress);
        told.backwards += done < told.last;
        told.last = done;
        told.all = all;
        told.calls++;
}

TEST(progress_grows_up_to_the_end)
{
        struct scene s = scene_begin();

        scene_block(&s, HEAP, SCENE_BYTES - 128);
        s.progress = &told.progress;
        scene_search(&s);
        is_true(told.calls > 1);
        is_equal(told.backwards, 0);
        is_equal(told.all, SCENE_BYTES - 128 + SCENE_ROOT_BYTES);
        is_equal(told.last, told.all);
        scene_end(&s);
}

/* ---- against the slow search ---- */

static void compare(const struct scene *s, uint64_t seed)
{
        struct slow slow = slow_search(s);
        bool same = slow.link_count == s->g.link_count && slow.hold_count == s->g.hold_count;

        for (uint64_t i = 0; same && i < s->g.block_count; i++)
                same = slow.leak[i] == s->g.leak[i] && slow.head[i] == s->g.head[i] &&
                       slow.idiom[i] == s->g.idiom[i] && slow.vtables[i] == s->g.vtables[i] &&
                       slow.first[i + 1] == s->g.first[i + 1];
        for (uint64_t i = 0; same && i < s->g.link_count; i++)
                same = slow.links[i].to == s->g.links[i].to && slow.links[i].at == s->g.links[i].at;
        for (uint64_t i = 0; same && i < s->g.hold_count; i++)
                same = slow.holds[i].to == s->g.holds[i].to &&
                       slow.holds[i].at == s->g.holds[i].at &&
                       slow.holds[i].root == s->g.holds[i].root;
        if (!is_true(same))
                printf("# seed %llu\n", (unsigned long long)seed);
        slow_free(&slow);
}

TEST(random_heaps_give_what_a_slow_search_gives)
{
        for (uint64_t seed = 1; seed <= 1500; seed++) {
                struct scene s = scene_begin();

                scene_random(&s, seed);
                scene_search(&s);
                compare(&s, seed);
                scene_end(&s);
        }
}

/* All is found though most of memory is not read; nothing of it is left out where pointers may be
 * at every byte. */
TEST(random_heaps_far_away_give_what_a_slow_search_gives)
{
        uint64_t left_out = 0;

        for (uint64_t seed = 1; seed <= 500; seed++) {
                struct scene s = scene_begin();

                scene_random(&s, seed);
                s.far = true;
                scene_search(&s);
                compare(&s, seed);
                is_true(!s.unaligned || !s.left_out);
                left_out += s.left_out;
                scene_end(&s);
        }
        is_true(left_out > 0);
}

TEST(blocks_all_over_the_place_are_few_ranges)
{
        static struct search_block blocks[20000];
        struct search_input in = { .blocks = blocks, .block_count = 20000 };
        struct search_range *ranges;
        uint32_t count, at = 0;
        bool all = true;

        for (uint32_t i = 0; i < 20000; i++)
                blocks[i] = (struct search_block){ .address = SCENE_HEAP + ((uint64_t)i << 21),
                                                   .size = i % 3 * 100 };
        ranges = destinations_find(&in, &count);
        is_true(count > 0 && count <= DESTINATIONS_MOST);
        for (uint32_t i = 1; i < count; i++)
                all = all && ranges[i - 1].end < ranges[i].start;
        for (uint32_t i = 0; i < 20000; i++) {
                while (at < count && ranges[at].end <= blocks[i].address)
                        at++;
                all = all && at < count && ranges[at].start <= blocks[i].address &&
                      ranges[at].end > blocks[i].address &&
                      ranges[at].end >= blocks[i].address + blocks[i].size;
        }
        is_true(all);
        free(ranges);
        in.block_count = 0;
        free(destinations_find(&in, &count));
        is_equal(count, 0);
}

/* ---- by several threads ---- */

#define LARGE_HEAP UINT64_C(0x500000000)
#define LARGE_ROOT UINT64_C(0x400000000)
#define LARGE_BYTES (UINT64_C(20) << 20) /* of each: more than a thread reads in a row */
#define LARGE_BLOCKS 170000u
#define LARGE_PLACES 5u /* the last is wider than the others */

struct large {
        uint8_t *heap, *root;
        struct search_block blocks[LARGE_BLOCKS];
        uint32_t places[LARGE_BLOCKS], wider[LARGE_PLACES];
        uint64_t state;
};

static uint64_t large_dice(struct large *l)
{
        l->state ^= l->state << 13;
        l->state ^= l->state >> 7;
        return l->state ^= l->state << 17;
}

static size_t large_read(void *context, uint64_t address, void *to, size_t bytes)
{
        struct large *l = context;
        bool heap = address >= LARGE_HEAP;
        uint64_t at = address - (heap ? LARGE_HEAP : LARGE_ROOT);

        bytes = at >= LARGE_BYTES ? 0 : bytes < LARGE_BYTES - at ? bytes : LARGE_BYTES - at;
        for (size_t i = 0; i < bytes; i++)
                ((uint8_t *)to)[i] = (heap ? l->heap : l->root)[at + i];
        return bytes;
}

/* Pointers to starts and insides, in a few of all words. */
static void large_fill(struct large *l, uint8_t *to, uint32_t rare)
{
        for (uint64_t i = 0; i < LARGE_BYTES / 8; i++) {
                uint64_t dice = large_dice(l), *word = (uint64_t *)(void *)to + i;

                *word = dice % rare ? dice % 97
                                    : l->blocks[(dice >> 20) % LARGE_BLOCKS].address +
                                              (dice >> 8 & 3 ? 0 : dice >> 10 & 24);
        }
}

/* Every 64th is an arena, and the eight behind it are carved from it; one block is lost with all of
 * its like. */
static struct large *large_make(void)
{
        struct large *l = heap_zero(1, sizeof *l);
        uint64_t at = LARGE_HEAP;

        l->state = 88172645463325252u;
        l->heap = heap_zero(LARGE_BYTES, 1);
        l->root = heap_zero(LARGE_BYTES, 1);
        for (uint32_t i = 0; i < LARGE_BLOCKS; i++) {
                bool arena = i % 64 == 0 && i + 8 < LARGE_BLOCKS;

                l->blocks[i] = (struct search_block){ .address = at,
                                                      .size = arena ? 800
                                                                    : 24 + 8 * (large_dice(l) % 8),
                                                      .flags = i % 5000 == 7 ? SEARCH_BLOCK_IGNORED
                                                               : i % 5000 == 9
                                                                       ? SEARCH_BLOCK_PASSAGE
                                                                       : 0 };
                l->places[i] = 1 + i % (LARGE_PLACES - 2);
                at += arena ? 16 : i % 64 == 8 ? 800 - 16 - 7 * 96 : 96;
        }
        for (uint32_t i = 1; i < LARGE_PLACES - 1; i++)
                l->wider[i] = LARGE_PLACES - 1;
        is_true(at < LARGE_HEAP + LARGE_BYTES);
        large_fill(l, l->heap, 6);
        large_fill(l, l->root, 300);
        return l;
}

static struct search_graph large_search(struct large *l, uint32_t threads)
{
        struct search_root root = { .start = LARGE_ROOT, .end = LARGE_ROOT + LARGE_BYTES };
        struct search_graph g;

        search_run(&(struct search_input){ .memory = { .context = l, .read = large_read },
                                           .blocks = l->blocks,
                                           .block_count = LARGE_BLOCKS,
                                           .places = l->places,
                                           .wider = l->wider,
                                           .place_count = LARGE_PLACES,
                                           .roots = &root,
                                           .root_count = 1,
                                           .threads = threads },
                   &g);
        return g;
}

TEST(several_threads_find_what_one_finds)
{
        struct large *l = large_make();
        struct search_graph one = large_search(l, 1), many = large_search(l, 3);
        uint64_t count[PROFILE_LEAK_COUNT] = { 0 };

        is_equal(one.link_count, many.link_count);
        is_equal(one.hold_count, many.hold_count);
        is_equal(one.heap_bytes, many.heap_bytes);
        is_equal(one.root_bytes, many.root_bytes);
        is_equal(memcmp(one.first, many.first, (LARGE_BLOCKS + 1) * sizeof *one.first), 0);
        is_equal(memcmp(one.links, many.links, one.link_count * sizeof *one.links), 0);
        is_equal(memcmp(one.holds, many.holds, one.hold_count * sizeof *one.holds), 0);
        is_equal(memcmp(one.leak, many.leak, LARGE_BLOCKS), 0);
        is_equal(memcmp(one.idiom, many.idiom, LARGE_BLOCKS), 0);
        is_equal(memcmp(one.head, many.head, LARGE_BLOCKS * sizeof *one.head), 0);
        for (uint32_t i = 0; i < LARGE_BLOCKS; i++)
                count[one.leak[i]]++;
        is_true(count[PROFILE_LEAK_REACHABLE] > 1000 && count[PROFILE_LEAK_POSSIBLE] > 1000 &&
                count[PROFILE_LEAK_DEFINITE] > 1000 && count[PROFILE_LEAK_INDIRECT] > 1000);
        printf("# reachable %llu possible %llu indirect %llu definite %llu\n",
               (unsigned long long)count[PROFILE_LEAK_REACHABLE],
               (unsigned long long)count[PROFILE_LEAK_POSSIBLE],
               (unsigned long long)count[PROFILE_LEAK_INDIRECT],
               (unsigned long long)count[PROFILE_LEAK_DEFINITE]);
        search_graph_free(&one);
        search_graph_free(&many);
        free(l->heap);
        free(l->root);
        free(l);
}

TAP_MAIN(a_pointer_to_the_start_makes_a_block_reachable,
         an_interior_pointer_makes_a_block_possible_and_one_past_the_end_is_none,
         a_block_of_no_bytes_is_held_by_its_address,
         what_a_possible_block_holds_is_possible_until_a_better_pointer_is_found,
         a_lost_list_has_one_head_wherever_it_lies, a_lost_cycle_has_one_head,
         rings_of_one_make_have_heads_of_one_place,
         a_block_that_holds_only_itself_is_lost_and_has_no_link, words_between_blocks_hold_nothing,
         words_of_a_root_inside_blocks_are_the_blocks, a_block_of_no_bytes_cuts_no_word,
         registers_hold_blocks_and_are_known_by_number,
         a_whole_root_counts_interior_pointers_as_pointers_to_the_start,
         a_pointer_leads_to_the_innermost_block_and_that_holds_its_arena,
         words_of_a_carved_block_are_not_its_arenas,
         links_of_an_arena_are_together_though_its_words_are_not,
         a_page_that_cannot_be_read_counts_as_empty, an_ignored_block_is_a_root,
         pointers_go_through_a_passage, a_pointer_anywhere_into_an_inner_block_is_one_to_its_start,
         what_only_an_unheld_passage_holds_is_possible_and_the_passage_is_nothing,
         unaligned_pointers_are_found_on_request_also_across_pieces,
         unused_pages_of_large_blocks_are_not_read, heaps_far_apart_are_searched_alike,
         no_blocks_and_no_roots_are_no_trouble, the_first_word_of_an_object_tells_its_class,
         old_strings_are_held_by_their_text,
         blocks_that_begin_with_their_length_are_held_by_what_follows,
         arrays_with_a_count_are_held_by_their_first_element,
         objects_are_held_by_their_second_base_class,
         an_idiom_in_a_register_and_one_in_a_block_count_too, progress_grows_up_to_the_end,
         random_heaps_give_what_a_slow_search_gives,
         random_heaps_far_away_give_what_a_slow_search_gives,
         blocks_all_over_the_place_are_few_ranges, several_threads_find_what_one_finds)
