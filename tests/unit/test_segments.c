/* SPDX-License-Identifier: MIT */
/*
 * test_segments.c -- ranges of addresses against an array that has a word for each address.
 */
#include "scan/segments.h"

#include <stdbool.h>

#include "tap.h"

#define ADDRESSES 3000u

static uint32_t model[ADDRESSES]; /* region of the last word; 0 nobody */
static uint64_t seed = 88172645463325252ull;

static uint32_t any(uint32_t below)
{
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        return (uint32_t)((seed >> 11) % below);
}

static bool is_as_the_model(const struct segments *s)
{
        uint32_t at = 0;

        for (uint32_t i = 0; i < s->count; i++) {
                const struct profile_root *r = segments_get(s, i);

                if (r->start < at || r->end <= r->start || r->end > ADDRESSES)
                        return false;
                for (; at < r->start; at++)
                        if (model[at])
                                return false;
                for (; at < r->end; at++)
                        if (model[at] != r->region || segments_kind(s, at) != r->kind)
                                return false;
        }
        for (; at < ADDRESSES; at++)
                if (model[at] || segments_kind(s, at) != PROFILE_ROOT_COUNT)
                        return false;
        return true;
}

static void change(struct segments *s, uint32_t start, uint32_t end, uint32_t word)
{
        for (uint32_t i = start; i < end; i++)
                model[i] = word;
        if (word)
                segments_put(s, (struct profile_root){ .start = start,
                                                       .end = end,
                                                       .kind = word % PROFILE_ROOT_COUNT,
                                                       .region = word });
        else
                segments_erase(s, start, end);
}

TEST(random_words_about_addresses_are_the_last_ones)
{
        struct segments s = { 0 };

        for (uint32_t i = 1; i < 20000; i++) {
                uint32_t start = any(ADDRESSES), end = start + any(any(20) ? 30 : ADDRESSES);

                change(&s, start, end < ADDRESSES ? end : ADDRESSES, any(3) ? i : 0);
                if (i % 500 == 0)
                        is_true(is_as_the_model(&s));
        }
        segments_free(&s);
        memset(model, 0, sizeof model);
}

TEST(words_in_the_order_of_addresses_and_in_reverse)
{
        struct segments s = { 0 };

        for (uint32_t i = 0; i < ADDRESSES; i++)
                change(&s, i, i + 1, i + 1);
        is_equal(s.count, ADDRESSES);
        is_true(is_as_the_model(&s));
        for (uint32_t i = ADDRESSES; i-- > 0;)
                change(&s, i, i + 1, i % 3 ? 7000 + i : 0);
        is_true(is_as_the_model(&s));
        change(&s, 0, ADDRESSES, 0);
        is_equal(s.count, 0);
        segments_free(&s);
}

TAP_MAIN(random_words_about_addresses_are_the_last_ones,
         words_in_the_order_of_addresses_and_in_reverse)
