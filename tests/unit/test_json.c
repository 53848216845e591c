/* SPDX-License-Identifier: MIT */
/*
 * test_json.c -- any bytes become valid JSON text.
 */
#include "base/json.h"

#include "tap.h"

static void quotes_as(const char *text, const char *expected)
{
        struct str s = { 0 };

        json_text(&s, text);
        is_text(str_get(&s), expected);
        str_free(&s);
}

TEST(plain_text_stays)
{
        quotes_as("hello, w\xc3\xb6rld", "\"hello, w\xc3\xb6rld\"");
        quotes_as("\xe2\x82\xac \xf0\x9f\x98\x80", "\"\xe2\x82\xac \xf0\x9f\x98\x80\"");
        quotes_as("", "\"\"");
}

TEST(no_text_is_null)
{
        quotes_as(NULL, "null");
}

TEST(quotes_and_controls_are_escaped)
{
        quotes_as("a\"b\\c\nd\te\x01\x7f", "\"a\\\"b\\\\c\\nd\\te\\u0001\\u007f\"");
}

TEST(bytes_that_are_no_utf8_become_the_replacement_character)
{
        quotes_as("\xff", "\"\xef\xbf\xbd\"");
        quotes_as("a\xc3", "\"a\xef\xbf\xbd\"");                                        /* cut */
        quotes_as("\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\"");                          /* overlong */
        quotes_as("\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");          /* surrogate */
        quotes_as("\xf4\x90\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""); /* above U+10FFFF */
}

TAP_MAIN(plain_text_stays, no_text_is_null, quotes_and_controls_are_escaped,
         bytes_that_are_no_utf8_become_the_replacement_character)
