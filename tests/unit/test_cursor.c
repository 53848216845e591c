/* SPDX-License-Identifier: MIT */
/*
 * test_cursor.c -- reading bytes never leaves them.
 */
#include "profile/cursor.h"

#include <stdlib.h>

#include "base/str.h"
#include "sample.h"
#include "tap.h"

static struct cursor over(const void *bytes, size_t count)
{
        return (struct cursor){ bytes, (const uint8_t *)bytes + count, false };
}

TEST(every_varint_that_is_written_is_read)
{
        uint64_t r = 99;

        for (int i = 0; i < 20000; i++) {
                uint64_t value = sample_random(&r) >> (i % 64);
                struct str s = { 0 };
                struct cursor c;

                str_varint(&s, value);
                c = over(s.data, s.length);
                is_true(cursor_varint(&c) == value && !c.bad && !cursor_left(&c));
                str_free(&s);
        }
}

TEST(a_varint_that_ends_early_is_bad)
{
        struct cursor c = over("\x80\x80", 2);

        is_equal(cursor_varint(&c), 0);
        is_true(c.bad && !cursor_left(&c));
        is_equal(cursor_varint(&c), 0);
}

TEST(a_varint_above_64_bits_is_bad)
{
        struct cursor c = over("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10);

        cursor_varint(&c);
        is_true(c.bad);
        c = over("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12);
        cursor_varint(&c);
        is_true(c.bad);
}

TEST(texts_are_none_empty_or_something)
{
        struct cursor c = over("\0\1\4abc", 6);
        char *text;

        is_text(cursor_text(&c), NULL);
        text = cursor_text(&c);
        is_text(text, "");
        free(text);
        text = cursor_text(&c);
        is_text(text, "abc");
        free(text);
        is_true(!c.bad);
}

TEST(a_text_longer_than_what_is_left_or_with_a_zero_inside_is_bad)
{
        struct cursor c = over("\5abc", 4);

        is_text(cursor_text(&c), NULL);
        is_true(c.bad);
        c = over("\4a\0c", 4);
        is_text(cursor_text(&c), NULL);
        is_true(c.bad);
        c = over("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10);
        is_text(cursor_text(&c), NULL);
        is_true(c.bad);
}

TAP_MAIN(every_varint_that_is_written_is_read, a_varint_that_ends_early_is_bad,
         a_varint_above_64_bits_is_bad, texts_are_none_empty_or_something,
         a_text_longer_than_what_is_left_or_with_a_zero_inside_is_bad)
