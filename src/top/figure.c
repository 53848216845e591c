/* SPDX-License-Identifier: MIT */
#include "top/figure.h"

#include <inttypes.h>
#include <stdio.h>

#include "words/text.h"

/* VALUE in units of STEP, with one digit behind the point below 100. */
static void add_scaled(struct str *out, double value, double step, const char *units)
{
        size_t unit = 0;

        while (value >= step * 0.9995 && units[unit + 1]) {
                value /= step;
                unit++;
        }
        if (value < 99.95)
                str_format(out, "%.1f%c", value, units[unit]);
        else
                str_format(out, "%.0f%c", value, units[unit]);
}

void figure_size(struct str *out, int64_t bytes, bool with_sign)
{
        uint64_t size = bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes;

        if (bytes < 0)
                str_char(out, '-');
        else if (with_sign && bytes)
                str_char(out, '+');
        if (size < 1024)
                str_format(out, "%" PRIu64, size);
        else
                add_scaled(out, (double)size / 1024, 1024, "KMGTPE");
}

void figure_count(struct str *out, uint64_t count, int width)
{
        struct str whole = { 0 };

        text_number(&whole, count <= INT64_MAX ? (int64_t)count : INT64_MAX);
        if (whole.length <= (size_t)width)
                str_text(out, str_get(&whole));
        else
                add_scaled(out, (double)count / 1000, 1000, "kMGTPE");
        str_free(&whole);
}

void figure_rate(struct str *out, double per_s)
{
        if (per_s >= 9999.5)
                add_scaled(out, per_s / 1000, 1000, "kMGT");
        else if (per_s >= 9.95 || per_s <= 0)
                str_format(out, "%.0f", per_s > 0 ? per_s : 0);
        else
                str_format(out, "%.*f", per_s < 0.095 ? 2 : 1, per_s);
}

void figure_age(struct str *out, uint64_t ms)
{
        uint64_t s = ms / 1000;

        if (ms < 1000)
                str_format(out, "%" PRIu64 "ms", ms);
        else if (s < 60)
                str_format(out, "%" PRIu64 "s", s);
        else if (s < 3600)
                str_format(out, "%" PRIu64 "m%02" PRIu64, s / 60, s % 60);
        else if (s < 86400)
                str_format(out, "%" PRIu64 "h%02" PRIu64, s / 3600, s / 60 % 60);
        else
                str_format(out, "%" PRIu64 "d%02" PRIu64, s / 86400, s / 3600 % 24);
}

void figure_clock(struct str *out, uint64_t ms)
{
        uint64_t s = ms / 1000;

        if (s >= 86400)
                str_format(out, "%" PRIu64 "d ", s / 86400);
        str_format(out, "%02" PRIu64 ":%02" PRIu64 ":%02" PRIu64, s / 3600 % 24, s / 60 % 60,
                   s % 60);
}
