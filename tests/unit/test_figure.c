/* SPDX-License-Identifier: MIT */
/*
 * test_figure.c -- numbers in a few columns.
 */
#include "tap.h"

#include "top/figure.h"

static struct str out;

static const char *taken(void)
{
        static char text[64];

        snprintf(text, sizeof text, "%s", str_get(&out));
        str_free(&out);
        return text;
}

static const char *size(int64_t bytes, bool with_sign)
{
        figure_size(&out, bytes, with_sign);
        return taken();
}

static const char *count(uint64_t value, int width)
{
        figure_count(&out, value, width);
        return taken();
}

static const char *rate(double value)
{
        figure_rate(&out, value);
        return taken();
}

static const char *age(uint64_t ms)
{
        figure_age(&out, ms);
        return taken();
}

static const char *clock_of(uint64_t ms)
{
        figure_clock(&out, ms);
        return taken();
}

TEST(sizes_are_in_units_of_1024)
{
        is_text(size(0, true), "0");
        is_text(size(1023, false), "1023");
        is_text(size(1024, false), "1.0K");
        is_text(size(102348, false), "99.9K");
        is_text(size(102400, false), "100K");
        is_text(size(1048575, false), "1.0M");
        is_text(size(12 << 20, true), "+12.0M");
        is_text(size(-1536, true), "-1.5K");
        is_text(size(INT64_MAX, false), "8.0E");
        is_text(size(INT64_MIN, false), "-8.0E");
}

TEST(no_size_needs_more_than_six_columns_without_its_sign)
{
        bool good = true;

        for (uint64_t bytes = 1; bytes < (uint64_t)INT64_MAX; bytes += bytes / 7 + 1)
                good = good && strlen(size((int64_t)bytes, false)) <= 5;
        is_true(good);
}

TEST(counts_are_written_out_where_they_fit)
{
        is_text(count(8211, 8), "8,211");
        is_text(count(410212, 5), "410k");
        is_text(count(12345678, 8), "12.3M");
        is_text(count(0, 5), "0");
}

TEST(rates_have_the_digits_that_tell_something)
{
        is_text(rate(0), "0");
        is_text(rate(0.02), "0.02");
        is_text(rate(0.5), "0.5");
        is_text(rate(110.4), "110");
        is_text(rate(12100), "12.1k");
        is_text(rate(-3), "0");
}

TEST(times_are_short)
{
        is_text(age(850), "850ms");
        is_text(age(12900), "12s");
        is_text(age(252000), "4m12");
        is_text(age(7500000), "2h05");
        is_text(age(3 * 86400000ull + 4 * 3600000ull), "3d04");
        is_text(clock_of(751000), "00:12:31");
        is_text(clock_of(90061000), "1d 01:01:01");
}

TAP_MAIN(sizes_are_in_units_of_1024, no_size_needs_more_than_six_columns_without_its_sign,
         counts_are_written_out_where_they_fit, rates_have_the_digits_that_tell_something,
         times_are_short)
