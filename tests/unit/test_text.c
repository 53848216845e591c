/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include "words/text.h"

static struct str out;

static const char *number(int64_t value)
{
        str_clear(&out);
        text_number(&out, value);
        return str_get(&out);
}

static const char *size(int64_t bytes)
{
        str_clear(&out);
        text_size(&out, bytes);
        return str_get(&out);
}

static const char *duration(uint64_t ms)
{
        str_clear(&out);
        text_time(&out, ms);
        return str_get(&out);
}

TEST(numbers_have_commas)
{
        is_text(number(0), "0");
        is_text(number(999), "999");
        is_text(number(1000), "1,000");
        is_text(number(-1234567), "-1,234,567");
        is_text(number(INT64_MIN), "-9,223,372,036,854,775,808");
}

TEST(sizes_are_of_1024)
{
        is_text(size(0), "0 B");
        is_text(size(1023), "1023 B");
        is_text(size(1024), "1.0 KiB");
        is_text(size(1536), "1.5 KiB");
        is_text(size(1048576 - 1), "1.0 MiB");
        is_text(size(10119126), "9.7 MiB"); /* 9.6504: rounded once, not by way of KiB */
        is_text(size(-3 * 1048576), "-3.0 MiB");
        is_text(size(5ll << 40), "5.0 TiB");
        is_text(size(5000ll << 40), "5000.0 TiB");
}

TEST(times_have_the_unit_that_fits)
{
        is_text(duration(0), "0 ms");
        is_text(duration(999), "999 ms");
        is_text(duration(1000), "1.0 s");
        is_text(duration(59999), "59.9 s");
        is_text(duration(60000), "1 min 0 s");
        is_text(duration(3600000 * 2 + 5 * 60000), "2 h 5 min");
}

TEST(shares_never_round_something_to_nothing_special)
{
        str_clear(&out);
        text_share(&out, 1, 0);
        is_text(str_get(&out), "0 %");
        str_clear(&out);
        text_share(&out, 4, 1000);
        is_text(str_get(&out), "0.4 %");
        str_clear(&out);
        text_share(&out, 312, 1000);
        is_text(str_get(&out), "31 %");
}

TEST(text_is_cut_and_padded_by_columns_not_bytes)
{
        str_clear(&out);
        str_text(&out, "x\xc3\xa4\xc3\xb6\xc3\xbcyz");
        text_cut(&out, 1, 5);
        is_text(str_get(&out), "x\xc3\xa4\xc3\xb6\xc3\xbcyz");
        text_cut(&out, 1, 4);
        is_text(str_get(&out), "x\xc3\xa4...");
        text_pad(&out, 1, 6);
        is_text(str_get(&out), "x\xc3\xa4...  ");
        text_pad(&out, 1, 2);
        is_text(str_get(&out), "x\xc3\xa4...  ");
        str_free(&out);
}

TEST(colour_takes_no_columns)
{
        str_clear(&out);
        str_text(&out, "1. ");
        text_color(&out, 1, TEXT_BOLD);
        str_text(&out, "12 B");
        text_plain(&out, 1);
        is_equal(text_columns(&out, 0), 7);
        text_pad(&out, 0, 9);
        is_text(str_get(&out), "1. \033[1m12 B\033[0m  ");
        text_cut(&out, 0, 9);
        is_text(str_get(&out), "1. \033[1m12 B\033[0m  ");
        text_cut(&out, 0, 8);
        is_text(str_get(&out), "1. \033[1m12...\033[0m");
        str_free(&out);
}

TEST(names_give_a_terminal_nothing_to_obey)
{
        str_clear(&out);
        text_name(&out, "a\033[2Jb\nc\x7f\xc3\xa4");
        text_name(&out, NULL);
        is_text(str_get(&out), "a?[2Jb c?\xc3\xa4?");
        str_free(&out);
}

TAP_MAIN(numbers_have_commas, sizes_are_of_1024, times_have_the_unit_that_fits,
         shares_never_round_something_to_nothing_special,
         text_is_cut_and_padded_by_columns_not_bytes, colour_takes_no_columns,
         names_give_a_terminal_nothing_to_obey)
