/* SPDX-License-Identifier: MIT */
/*
 * test_past.c -- what was live at earlier moments, by things that keep their number.
 */
#include "tap.h"

#include "top/past.h"

static void add(struct past *h, uint64_t ms)
{
        struct past_moment m = { .ms = ms };

        past_place(&m, 0)->live_bytes = ms;
        past_add(h, &m);
}

TEST(a_key_keeps_its_number)
{
        struct past h = { 0 };
        uint32_t numbers[5000];
        bool good = true;

        for (uint32_t i = 0; i < 5000; i++)
                numbers[i] = past_number(&h, past_key(i, 7));
        for (uint32_t i = 0; i < 5000; i++)
                good = good && past_number(&h, past_key(i, 7)) == numbers[i] && numbers[i] == i;
        is_true(good);
        past_free(&h);
}

TEST(equal_texts_are_equal_keys_and_others_are_not)
{
        is_true(past_key_text(1, "parse") == past_key_text(1, "parse"));
        is_true(past_key_text(1, "parse") != past_key_text(2, "parse"));
        is_true(past_key_text(1, "ab") != past_key_text(1, "ba"));
}

TEST(what_did_not_exist_yet_has_nothing)
{
        struct past_moment m = { 0 };

        past_place(&m, 3)->live_bytes = 5;
        is_equal(past_of(&m, 3).live_bytes, 5);
        is_equal(past_of(&m, 2).live_bytes, 0);
        is_equal(past_of(&m, 100000).live_bytes, 0);
        is_true(past_of(&m, 100000).birth_ms == PAST_UNKNOWN);
        is_equal(past_of(NULL, 0).allocs, 0);
        past_moment_free(&m);
}

TEST(a_minute_ago_is_a_minute_ago_within_a_step)
{
        struct past h = { 0 };

        for (uint64_t ms = 0; ms <= 300000; ms += 1000) {
                const struct past_moment *then;

                add(&h, ms);
                then = past_at(&h, ms > PAST_SPAN_MS ? ms - PAST_SPAN_MS : 0, false);
                if (ms > PAST_SPAN_MS && !(is_true(ms - then->ms >= PAST_SPAN_MS) && is_true(ms - then->ms <= PAST_SPAN_MS + PAST_STEP_MS)))
                        break;
                if (ms <= PAST_SPAN_MS)
                        is_equal(then->ms, 0);
        }
        is_true(h.moment_count < 40);
        past_free(&h);
}

TEST(the_moment_before_is_always_there)
{
        struct past h = { 0 };
        bool good = true;

        add(&h, 0);
        is_true(past_previous(&h, false) == NULL);
        for (uint64_t ms = 100; ms < 20000; ms += 100) {
                add(&h, ms);
                good = good && past_newest(&h)->ms == ms && past_previous(&h, false)->ms == ms - 100;
        }
        is_true(good);
        past_free(&h);
}

TEST(a_look_after_a_long_pause_is_compared_with_the_one_before_it)
{
        struct past h = { 0 };

        add(&h, 1000);
        add(&h, 500000);
        is_equal(past_at(&h, 500000 - PAST_SPAN_MS, false)->ms, 1000);
        is_equal(past_at(&h, 500000 - PAST_SPAN_MS, false)->all[0].live_bytes, 1000);
        past_free(&h);
}

TEST(moments_with_blocks_are_compared_with_their_like)
{
        struct past h = { 0 };

        for (uint64_t ms = 1000; ms <= 40000; ms += 2000) {
                struct past_moment m = { .ms = ms, .blocks = ms % 5000 == 0 };

                past_add(&h, &m);
        }
        is_equal(past_at(&h, 20000, true)->ms, 15000);
        is_equal(past_at(&h, 1000, true)->ms, 5000);
        is_equal(past_previous(&h, true)->ms, 35000);
        is_equal(past_previous(&h, false)->ms, 37000);
        past_free(&h);
}

TEST(a_copy_stands_by_itself)
{
        struct past_moment m = { .ms = 5 }, copy;

        past_place(&m, 1)->allocs = 9;
        copy = past_copy(&m);
        past_place(&m, 1)->allocs = 10;
        is_equal(past_of(&copy, 1).allocs, 9);
        is_equal(copy.ms, 5);
        past_moment_free(&m);
        past_moment_free(&copy);
}

TAP_MAIN(a_key_keeps_its_number, equal_texts_are_equal_keys_and_others_are_not, what_did_not_exist_yet_has_nothing,
         a_minute_ago_is_a_minute_ago_within_a_step, the_moment_before_is_always_there,
         a_look_after_a_long_pause_is_compared_with_the_one_before_it,
         moments_with_blocks_are_compared_with_their_like, a_copy_stands_by_itself)
