/* SPDX-License-Identifier: MIT */
/*
 * test_arrange.c -- many things in the order of their numbers, compared with qsort().
 */
#include "base/arrange.h"

#include <stdlib.h>

#include "base/heap.h"
#include "tap.h"

struct thing {
        uint64_t key;
        uint32_t number;
};

static int by_key(const void *a, const void *b)
{
        const struct thing *x = a, *y = b;

        return x->key != y->key        ? (x->key < y->key ? -1 : 1)
               : x->number < y->number ? -1
                                       : x->number > y->number;
}

static uint64_t next_random(uint64_t *state)
{
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        return *state;
}

/* COUNT keys below all of MASK. */
static void compare(uint32_t count, uint64_t mask)
{
        struct thing *things = heap_zero(count, sizeof *things);
        uint64_t *keys = heap_zero(count, sizeof *keys), state = 88172645463325252ull ^ mask;
        uint32_t *order = arrange_start(count), wrong = 0;

        for (uint32_t i = 0; i < count; i++) {
                keys[i] = next_random(&state) & mask;
                things[i] = (struct thing){ keys[i], i };
        }
        arrange_by(order, count, keys);
        qsort(things, count, sizeof *things, by_key);
        for (uint32_t i = 0; i < count; i++)
                wrong += order[i] != things[i].number;
        is_equal(wrong, 0);
        free(things);
        free(keys);
        free(order);
}

TEST(things_are_in_the_order_of_their_keys_and_equal_ones_stay)
{
        for (uint32_t count = 0; count < 5; count++)
                compare(count, UINT64_MAX);
        compare(3000, UINT64_MAX);
        compare(3000, 0);
        compare(3000, 3);
        compare(3000, 0xff00000000000000ull);
        compare(3000, 0x00ff00f0000f0100ull);
}

TEST(what_decides_last_comes_first)
{
        const uint64_t first[] = { 2, 1, 2, 1, 2 }, second[] = { 5, 4, 3, 9, 4 };
        uint32_t *order = arrange_start(5);

        arrange_by(order, 5, second);
        arrange_by(order, 5, first);
        is_equal(order[0], 1);
        is_equal(order[1], 3);
        is_equal(order[2], 2);
        is_equal(order[3], 4);
        is_equal(order[4], 0);
        free(order);
}

TEST(the_largest_number_comes_first_going_down)
{
        is_true(arrange_down(INT64_MAX) < arrange_down(1));
        is_true(arrange_down(1) < arrange_down(0));
        is_true(arrange_down(0) < arrange_down(-1));
        is_true(arrange_down(-1) < arrange_down(INT64_MIN));
}

TAP_MAIN(things_are_in_the_order_of_their_keys_and_equal_ones_stay, what_decides_last_comes_first,
         the_largest_number_comes_first_going_down)
