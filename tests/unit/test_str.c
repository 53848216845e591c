/* SPDX-License-Identifier: MIT */
/*
 * test_str.c -- text and bytes that grow.
 */
#include "base/str.h"

#include "tap.h"

TEST(a_fresh_string_is_empty_text)
{
        struct str s = { 0 };

        is_text(str_get(&s), "");
        str_free(&s);
}

TEST(everything_that_is_added_stands_in_order)
{
        struct str s = { 0 };

        str_text(&s, "a");
        str_char(&s, 'b');
        str_bytes(&s, "cdX", 2);
        str_format(&s, "-%d-%s", 42, "end");
        is_text(str_get(&s), "abcd-42-end");
        is_equal(s.length, 11);
        str_free(&s);
        is_true(!s.data && !s.length);
}

TEST(growing_keeps_what_was_there)
{
        struct str s = { 0 };

        for (int i = 0; i < 100000; i++)
                str_char(&s, (char)('a' + i % 26));
        is_equal(s.length, 100000);
        for (int i = 0; i < 100000; i += 777)
                is_equal(s.data[i], 'a' + i % 26);
        is_equal(s.data[s.length], 0);
        str_free(&s);
}

TEST(formatted_text_may_be_longer_than_the_room)
{
        struct str s = { 0 };

        str_format(&s, "%0*d", 5000, 7);
        is_equal(s.length, 5000);
        is_equal(s.data[4999], '7');
        str_free(&s);
}

TEST(bytes_may_contain_zero_and_be_none)
{
        struct str s = { 0 };

        str_bytes(&s, NULL, 0);
        str_bytes(&s, "a\0b", 3);
        is_equal(s.length, 3);
        is_true(!memcmp(s.data, "a\0b", 4));
        str_free(&s);
}

TEST(clearing_keeps_the_room)
{
        struct str s = { 0 };
        size_t room;

        str_clear(&s);
        str_text(&s, "something");
        room = s.room;
        str_clear(&s);
        is_text(str_get(&s), "");
        is_equal(s.room, room);
        str_free(&s);
}

TEST(varints_are_leb128)
{
        static const struct {
                uint64_t value;
                const char *bytes;
                size_t length;
        } cases[] = { { 0, "\0", 1 },
                      { 127, "\x7f", 1 },
                      { 128, "\x80\x01", 2 },
                      { 300, "\xac\x02", 2 },
                      { UINT32_MAX, "\xff\xff\xff\xff\x0f", 5 },
                      { UINT64_MAX, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10 } };

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct str s = { 0 };

                str_varint(&s, cases[i].value);
                is_equal(s.length, cases[i].length);
                is_true(!memcmp(s.data, cases[i].bytes, cases[i].length));
                str_free(&s);
        }
}

TEST(numbers_have_their_digits)
{
        static const uint64_t numbers[] = {
                0,         7,   9,    10,    42,      99,         100,
                101,       999, 1000, 12345, 1000000, 4294967296, UINT64_MAX - 1,
                UINT64_MAX
        };
        struct str s = { 0 };
        char wanted[32];

        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
                snprintf(wanted, sizeof wanted, "%llu", (unsigned long long)numbers[i]);
                str_clear(&s);
                str_number(&s, numbers[i]);
                is_text(s.data, wanted);
        }
        for (uint64_t i = 0; i < 20000; i++) {
                snprintf(wanted, sizeof wanted, "%llu", (unsigned long long)i);
                str_clear(&s);
                str_number(&s, i);
                if (strcmp(s.data, wanted) != 0)
                        is_text(s.data, wanted);
        }
        str_free(&s);
}

TAP_MAIN(numbers_have_their_digits, a_fresh_string_is_empty_text,
         everything_that_is_added_stands_in_order, growing_keeps_what_was_there,
         formatted_text_may_be_longer_than_the_room, bytes_may_contain_zero_and_be_none,
         clearing_keeps_the_room, varints_are_leb128)
