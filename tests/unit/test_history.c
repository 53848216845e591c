/* SPDX-License-Identifier: MIT */
/*
 * test_history.c -- what was live at earlier moments, by things that keep their number.
 */
#include "tap.h"

#include "profile/key.h"
#include "top/history.h"

static void add(struct history *h, uint64_t ms)
{
        struct history_moment m = { .ms = ms };

        history_place(&m, 0)->live_bytes = ms;
        history_add(h, &m);
}

TEST(a_key_keeps_its_number)
{
        struct history h = { 0 };
        uint32_t numbers[5000];
        bool good = true;

        for (uint32_t i = 0; i < 5000; i++)
                numbers[i] = history_number(&h, key_add(i, 7));
        for (uint32_t i = 0; i < 5000; i++)
                good = good && history_number(&h, key_add(i, 7)) == numbers[i] &&
                       numbers[i] == i;
        is_true(good);
        history_free(&h);
}

TEST(equal_texts_are_equal_keys_and_others_are_not)
{
        is_true(key_add_text(1, "parse") == key_add_text(1, "parse"));
        is_true(key_add_text(1, "parse") != key_add_text(2, "parse"));
        is_true(key_add_text(1, "ab") != key_add_text(1, "ba"));
}

TEST(what_did_not_exist_yet_has_nothing)
{
        struct history_moment m = { 0 };

        history_place(&m, 3)->live_bytes = 5;
        is_equal(history_of(&m, 3).live_bytes, 5);
        is_equal(history_of(&m, 2).live_bytes, 0);
        is_equal(history_of(&m, 100000).live_bytes, 0);
        is_true(history_of(&m, 100000).birth_ms == HISTORY_UNKNOWN);
        is_equal(history_of(NULL, 0).allocs, 0);
        history_moment_free(&m);
}

TEST(a_minute_ago_is_a_minute_ago_within_a_step)
{
        struct history h = { 0 };

        for (uint64_t ms = 0; ms <= 300000; ms += 1000) {
                const struct history_moment *then;

                add(&h, ms);
                then = history_at(&h, ms > HISTORY_SPAN_MS ? ms - HISTORY_SPAN_MS : 0, false);
                if (ms > HISTORY_SPAN_MS &&
                    !(is_true(ms - then->ms >= HISTORY_SPAN_MS) &&
                      is_true(ms - then->ms <= HISTORY_SPAN_MS + HISTORY_STEP_MS)))
                        break;
                if (ms <= HISTORY_SPAN_MS)
                        is_equal(then->ms, 0);
        }
        is_true(h.moment_count < 40);
        history_free(&h);
}

TEST(the_moment_before_is_always_there)
{
        struct history h = { 0 };
        bool good = true;

        add(&h, 0);
        is_true(history_previous(&h, false) == NULL);
        for (uint64_t ms = 100; ms < 20000; ms += 100) {
                add(&h, ms);
                good = good && history_newest(&h)->ms == ms &&
                       history_previous(&h, false)->ms == ms - 100;
        }
        is_true(good);
        history_free(&h);
}

TEST(a_look_after_a_long_pause_is_compared_with_the_one_before_it)
{
        struct history h = { 0 };

        add(&h, 1000);
        add(&h, 500000);
        is_equal(history_at(&h, 500000 - HISTORY_SPAN_MS, false)->ms, 1000);
        is_equal(history_at(&h, 500000 - HISTORY_SPAN_MS, false)->all[0].live_bytes, 1000);
        history_free(&h);
}

TEST(moments_with_blocks_are_compared_with_their_like)
{
        struct history h = { 0 };

        for (uint64_t ms = 1000; ms <= 40000; ms += 2000) {
                struct history_moment m = { .ms = ms, .blocks = ms % 5000 == 0 };

                history_add(&h, &m);
        }
        is_equal(history_at(&h, 20000, true)->ms, 15000);
        is_equal(history_at(&h, 1000, true)->ms, 5000);
        is_equal(history_previous(&h, true)->ms, 35000);
        is_equal(history_previous(&h, false)->ms, 37000);
        history_free(&h);
}

TEST(a_copy_stands_by_itself)
{
        struct history_moment m = { .ms = 5 }, copy;

        history_place(&m, 1)->allocs = 9;
        copy = history_copy(&m);
        history_place(&m, 1)->allocs = 10;
        is_equal(history_of(&copy, 1).allocs, 9);
        is_equal(copy.ms, 5);
        history_moment_free(&m);
        history_moment_free(&copy);
}

TAP_MAIN(a_key_keeps_its_number, equal_texts_are_equal_keys_and_others_are_not,
         what_did_not_exist_yet_has_nothing, a_minute_ago_is_a_minute_ago_within_a_step,
         the_moment_before_is_always_there,
         a_look_after_a_long_pause_is_compared_with_the_one_before_it,
         moments_with_blocks_are_compared_with_their_like, a_copy_stands_by_itself)
