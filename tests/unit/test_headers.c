/* SPDX-License-Identifier: MIT */
/*
 * test_headers.c -- places that keep a header in front of what they hand out: when nearly all of
 * their blocks say so, and not before.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "leak/search.h"
#include "scene.h"
#include "scene_slow.h"
#include "tap.h"

#define HEAP SCENE_HEAP
#define ROOT SCENE_ROOT
#define SIZE 48u
#define COUNT 3u /* what is in a header */

/* Where block NUMBER is. */
static uint64_t at(uint32_t number)
{
        return HEAP + number * 64;
}

/* The next block, of PLACE, with COUNT in the word before OFFSET; a root points to OFFSET. */
static uint32_t add(struct scene *s, uint32_t place, uint64_t offset)
{
        uint32_t number = scene_block(s, at(s->block_count), SIZE);

        s->places[number] = place;
        if (offset >= 8)
                scene_word(s, at(number) + offset - 8, COUNT);
        scene_word(s, ROOT + 8 * number, at(number) + offset);
        return number;
}

static void add_many(struct scene *s, uint32_t count, uint32_t place, uint64_t offset)
{
        while (count-- > 0)
                add(s, place, offset);
}

static uint32_t count_of(struct scene *s, int leak)
{
        uint32_t count = 0;

        scene_search(s);
        for (uint32_t i = 0; i < s->block_count; i++)
                count += s->g.leak[i] == leak;
        return count;
}

TEST(eight_blocks_of_a_place_at_one_offset_are_held_and_seven_are_not)
{
        struct scene s = scene_begin();

        add_many(&s, 7, 1, 16);
        is_equal(count_of(&s, PROFILE_LEAK_POSSIBLE), 7);
        add(&s, 1, 16);
        is_equal(count_of(&s, PROFILE_LEAK_REACHABLE), 8);
        is_equal(s.g.idiom[3], 1);
        is_equal(s.g.holds[3].to, 3 | SEARCH_LINK_IDIOM);
        s.no_idioms = true;
        is_equal(count_of(&s, PROFILE_LEAK_POSSIBLE), 8);
        scene_end(&s);
}

TEST(blocks_of_unknown_places_are_as_before)
{
        struct scene s = scene_begin();

        add_many(&s, 20, 0, 16);
        is_equal(count_of(&s, PROFILE_LEAK_POSSIBLE), 20);
        scene_end(&s);
}

TEST(lost_blocks_stay_lost_and_moved_pointers_possible)
{
        struct scene s = scene_begin();
        uint32_t lost, moved;

        add_many(&s, 20, 1, 16);
        lost = scene_block(&s, at(s.block_count), SIZE);
        s.places[lost] = 1;
        moved = add(&s, 1, 24);
        is_equal(count_of(&s, PROFILE_LEAK_REACHABLE), 20);
        is_equal(s.g.leak[lost], PROFILE_LEAK_DEFINITE);
        is_equal(s.g.leak[moved], PROFILE_LEAK_POSSIBLE);
        scene_end(&s);
}

TEST(many_lost_blocks_do_not_make_the_others_doubtful)
{
        struct scene s = scene_begin();

        add_many(&s, 8, 1, 16);
        for (uint32_t i = 0; i < 30; i++)
                s.places[scene_block(&s, at(s.block_count), SIZE)] = 1;
        is_equal(count_of(&s, PROFILE_LEAK_DEFINITE), 30);
        is_equal(count_of(&s, PROFILE_LEAK_REACHABLE), 8);
        scene_end(&s);
}

TEST(one_block_in_ten_may_be_held_otherwise_and_two_may_not)
{
        struct scene s = scene_begin();

        add_many(&s, 18, 1, 16);
        add_many(&s, 2, 1, 0);
        is_equal(count_of(&s, PROFILE_LEAK_REACHABLE), 20);
        add(&s, 1, 0);
        is_equal(count_of(&s, PROFILE_LEAK_POSSIBLE), 18);
        scene_end(&s);
}

TEST(text_and_fractions_in_front_are_no_headers)
{
        static const double half = 0.5;
        uint64_t word;
        struct scene s = scene_begin();

        add_many(&s, 20, 1, 16);
        memcpy(&word, "prefix: ", 8);
        for (uint32_t i = 0; i < 20; i++)
                scene_word(&s, at(i) + 8, word);
        is_equal(count_of(&s, PROFILE_LEAK_POSSIBLE), 20);
        memcpy(&word, &half, 8);
        for (uint32_t i = 0; i < 20; i++)
                scene_word(&s, at(i) + 8, word);
        is_equal(count_of(&s, PROFILE_LEAK_POSSIBLE), 20);
        for (uint32_t i = 0; i < 20; i++)
                scene_word(&s, at(i) + 8, at(i / 2)); /* a list in the headers */
        is_equal(count_of(&s, PROFILE_LEAK_REACHABLE), 20);
        scene_end(&s);
}

TEST(offsets_that_are_large_are_no_headers)
{
        struct scene s = scene_begin();

        for (uint32_t i = 0; i < 20; i++) {
                s.places[scene_block(&s, HEAP + i * 256, 200)] = 1;
                scene_word(&s, ROOT + 8 * i, HEAP + i * 256 + 128);
        }
        is_equal(count_of(&s, PROFILE_LEAK_REACHABLE), 20);
        for (uint32_t i = 0; i < 20; i++)
                scene_word(&s, ROOT + 8 * i, HEAP + i * 256 + 136);
        is_equal(count_of(&s, PROFILE_LEAK_POSSIBLE), 20);
        scene_end(&s);
}

/* The strings of redis: length, capacity and kind before the text, each as small as the text
 * allows. */
static void add_sds(struct scene *s, uint32_t offset)
{
        static const uint64_t headers[] = { [1] = (SIZE / 2 - 2) << 3,
                                            [3] = 1 << 16 | 44 << 8 | 44,
                                            [5] = UINT64_C(2) << 32 | 42 << 16 | 42 };
        uint32_t number = add(s, 1, offset);

        s->blocks[number].size = offset == 1 ? SIZE / 2 : SIZE;
        scene_word(s, at(number), headers[offset]);
}

TEST(a_place_may_have_headers_of_several_sizes)
{
        struct scene s = scene_begin();

        for (uint32_t i = 0; i < 8; i++) {
                add_sds(&s, 1);
                add_sds(&s, 3);
                add_sds(&s, 5);
        }
        is_equal(count_of(&s, PROFILE_LEAK_REACHABLE), 24);
        /* a string whose first letter was left out: seven others are too few */
        scene_word(&s, at(0), '/');
        is_equal(count_of(&s, PROFILE_LEAK_POSSIBLE), 24);
        scene_end(&s);
}

TEST(six_sizes_are_chance)
{
        struct scene s = scene_begin();

        for (uint32_t i = 0; i < 40; i++)
                add(&s, 1, 8 + 8 * (i % 5));
        is_equal(count_of(&s, PROFILE_LEAK_REACHABLE), 40);
        add_many(&s, 8, 1, 4);
        is_equal(count_of(&s, PROFILE_LEAK_POSSIBLE), 48);
        scene_end(&s);
}

TEST(a_wider_place_speaks_for_places_with_few_blocks)
{
        struct scene s = scene_begin();

        s.wider[1] = s.wider[2] = s.wider[3] = 4;
        s.wider[4] = 5;
        add_many(&s, 3, 1, 16);
        add_many(&s, 3, 2, 16);
        is_equal(count_of(&s, PROFILE_LEAK_POSSIBLE), 6);
        add_many(&s, 2, 3, 16);
        is_equal(count_of(&s, PROFILE_LEAK_REACHABLE), 8);
        scene_end(&s);
}

TEST(a_wider_place_does_not_overrule_one_that_has_no_headers)
{
        struct scene s = scene_begin();
        uint32_t moved;

        s.wider[1] = s.wider[2] = 4;
        add_many(&s, 50, 1, 16);
        add(&s, 2, 0);
        moved = add(&s, 2, 16); /* one of two: too few to know better than the wider place */
        is_equal(count_of(&s, PROFILE_LEAK_REACHABLE), 52);
        add_many(&s, 4, 2, 0);
        is_equal(count_of(&s, PROFILE_LEAK_REACHABLE), 56);
        add_many(&s, 2, 2, 0);
        is_equal(count_of(&s, PROFILE_LEAK_POSSIBLE), 1);
        is_equal(s.g.leak[moved], PROFILE_LEAK_POSSIBLE);
        scene_end(&s);
}

TEST(a_size_that_is_rare_in_a_place_counts_when_a_wider_one_knows_it)
{
        struct scene s = scene_begin();

        s.wider[1] = s.wider[2] = 4;
        add_many(&s, 9, 1, 16);
        add_many(&s, 3, 1, 8);
        is_equal(count_of(&s, PROFILE_LEAK_POSSIBLE), 12);
        add_many(&s, 8, 2, 8);
        is_equal(count_of(&s, PROFILE_LEAK_REACHABLE), 20);
        add(&s, 1, 32);
        is_equal(count_of(&s, PROFILE_LEAK_POSSIBLE), 1);
        scene_end(&s);
}

TEST(what_is_held_through_such_pointers_only_is_held)
{
        struct scene s = scene_begin();

        for (uint32_t i = 0; i < 20; i++) { /* a list from behind one header to behind the next */
                add(&s, 1, 16);
                scene_word(&s, ROOT + 8 * i, i ? 0 : at(0) + 16);
                if (i)
                        scene_word(&s, at(i - 1) + 16, at(i) + 16);
        }
        scene_word(&s, at(19) + 24, at(20));
        scene_block(&s, at(20), SIZE);
        is_equal(count_of(&s, PROFILE_LEAK_REACHABLE), 21);
        is_equal(s.g.idiom[19], 1);
        is_equal(s.g.idiom[20], 0);
        scene_word(&s, at(9) + 16, 0); /* cut: the second half is lost, and keeps its head */
        is_equal(count_of(&s, PROFILE_LEAK_REACHABLE), 10);
        is_equal(count_of(&s, PROFILE_LEAK_DEFINITE), 1);
        is_equal(count_of(&s, PROFILE_LEAK_INDIRECT), 10);
        scene_end(&s);
}

TEST(pointers_in_lost_blocks_tell_nothing)
{
        struct scene s = scene_begin();

        add_many(&s, 7, 1, 16);
        scene_block(&s, at(7), SIZE);
        s.places[scene_block(&s, at(8), SIZE)] = 1;
        scene_word(&s, at(7), at(8) + 16);
        is_equal(count_of(&s, PROFILE_LEAK_POSSIBLE), 7);
        is_equal(s.g.leak[8], PROFILE_LEAK_INDIRECT);
        scene_end(&s);
}

TEST(an_array_of_no_elements_is_held_by_its_end)
{
        struct scene s = scene_begin();

        scene_block(&s, at(0), 8);
        scene_block(&s, at(1), 8);
        scene_word(&s, ROOT, at(0) + 8);
        scene_word(&s, ROOT + 8, at(1) + 8);
        s.blocks[0].flags = SEARCH_BLOCK_NO_ELEMENTS;
        scene_search(&s);
        is_equal(s.g.leak[0], PROFILE_LEAK_REACHABLE);
        is_equal(s.g.idiom[0], 1);
        is_equal(s.g.leak[1], PROFILE_LEAK_DEFINITE);
        scene_word(&s, ROOT, at(0) + 9);
        is_equal(count_of(&s, PROFILE_LEAK_DEFINITE), 2);
        scene_word(&s, ROOT, at(0) + 4);
        is_equal(count_of(&s, PROFILE_LEAK_POSSIBLE), 1);
        scene_end(&s);
}

/* The comparison with a slow search (test_search.c) is worth something. */
TEST(random_heaps_have_headers_often_enough)
{
        uint32_t changed = 0;

        for (uint64_t seed = 1; seed <= 1500; seed++) {
                struct scene s = scene_begin();
                uint32_t possible;

                scene_random(&s, seed);
                possible = count_of(&s, PROFILE_LEAK_POSSIBLE);
                memset(s.places, 0, sizeof s.places);
                changed += count_of(&s, PROFILE_LEAK_POSSIBLE) != possible;
                scene_end(&s);
        }
        printf("# %u of 1500\n", changed);
        is_true(changed > 50);
}

TAP_MAIN(eight_blocks_of_a_place_at_one_offset_are_held_and_seven_are_not,
         blocks_of_unknown_places_are_as_before, lost_blocks_stay_lost_and_moved_pointers_possible,
         many_lost_blocks_do_not_make_the_others_doubtful,
         one_block_in_ten_may_be_held_otherwise_and_two_may_not,
         text_and_fractions_in_front_are_no_headers, offsets_that_are_large_are_no_headers,
         a_place_may_have_headers_of_several_sizes, six_sizes_are_chance,
         a_wider_place_speaks_for_places_with_few_blocks,
         a_wider_place_does_not_overrule_one_that_has_no_headers,
         a_size_that_is_rare_in_a_place_counts_when_a_wider_one_knows_it,
         what_is_held_through_such_pointers_only_is_held, pointers_in_lost_blocks_tell_nothing,
         an_array_of_no_elements_is_held_by_its_end, random_heaps_have_headers_often_enough)
