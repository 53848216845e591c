/* SPDX-License-Identifier: MIT */
/*
 * test_weight.c -- sampling: chances and distances against the formulas, and sums that are right on
 * average.
 */
#include <math.h>
#include <stdbool.h>

#include "ledger/weight.h"
#include "tap.h"

static const uint64_t means[] = { 1000, 512u << 10, 7u << 20, 1ull << 30 };

static bool is_near(double got, double wanted, double share)
{
        return fabs(got - wanted) <= share * wanted;
}

TEST(the_chance_is_that_of_a_poisson_process)
{
        for (unsigned m = 0; m < sizeof means / sizeof *means; m++)
                for (uint64_t size = 1; size < 60 * means[m]; size = size * 3 / 2 + 1)
                        is_true(is_near((double)weight_chance(size, means[m]) / (double)WEIGHT_ONE,
                                        -expm1(-(double)size / (double)means[m]), 1e-3));
        is_equal(weight_chance(0, 1000), weight_chance(1, 1000));
        is_equal(weight_of(0x1000, 1 << 20, 7, 1000), 1);
}

TEST(a_block_stands_for_as_many_as_its_chance_says)
{
        for (unsigned m = 0; m < sizeof means / sizeof *means; m++)
                for (uint64_t size = means[m] / 64; size < 8 * means[m]; size *= 2) {
                        double sum = 0;

                        for (uint64_t i = 0; i < 100000; i++)
                                sum += (double)weight_of(0x7f0000000000 + 32 * (i % 1000), size, i,
                                                         means[m]);
                        is_true(is_near(sum / 100000, -1 / expm1(-(double)size / (double)means[m]),
                                        0.01));
                }
}

TEST(its_release_takes_off_what_its_allocation_added)
{
        for (uint64_t i = 0; i < 1000; i++)
                is_equal(weight_of(i * 48, i, i / 3, 512 << 10),
                         weight_of(i * 48, i, i / 3, 512 << 10));
}

TEST(distances_are_exponential)
{
        for (unsigned m = 0; m < sizeof means / sizeof *means; m++) {
                double sum = 0, squares = 0, above = 0, mean = (double)means[m];
                const uint64_t count = 200000;

                for (uint64_t i = 1; i <= count; i++) {
                        double d = (double)weight_distance(weight_mix(i), means[m]) / mean;

                        sum += d;
                        squares += d * d;
                        above += d > 2;
                }
                is_true(is_near(sum / (double)count, 1, 0.02));
                is_true(is_near(squares / (double)count, 2, 0.04));
                is_true(is_near(above / (double)count, exp(-2), 0.04));
        }
        is_equal(weight_distance(UINT64_MAX, 1000), 0);
        is_true(weight_distance(0, 1000) > 40000);
}

TAP_MAIN(the_chance_is_that_of_a_poisson_process, a_block_stands_for_as_many_as_its_chance_says,
         its_release_takes_off_what_its_allocation_added, distances_are_exponential)
