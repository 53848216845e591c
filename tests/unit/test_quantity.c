/* SPDX-License-Identifier: MIT */
/* test_quantity.c -- numbers, sizes and times as people write them. */
#include "base/quantity.h"

#include "tap.h"

TEST(values_have_units)
{
        uint64_t value = 0;

        is_true(quantity_size("512K", &value) && value == 524288);
        is_true(quantity_size("1.5M", &value) && value == 1572864);
        is_true(quantity_size("2kB", &value) && value == 2000);
        is_true(!quantity_size("-1", &value) && !quantity_size("3 apples", &value) &&
                !quantity_size("", &value));
        is_true(!quantity_size("99999999999T", &value));
        is_true(quantity_time("1.5s", &value) && value == 1500);
        is_true(quantity_time("200ms", &value) && value == 200);
        is_true(quantity_time("2m", &value) && value == 120000);
        is_true(quantity_time("3", &value) && value == 3000);
        is_true(!quantity_time("soon", &value));
        is_true(quantity_number("42", &value) && value == 42);
        is_true(!quantity_number("42x", &value) && !quantity_number("-4", &value) &&
                !quantity_number("99999999999999999999", &value));
}

TAP_MAIN(values_have_units)
