/* SPDX-License-Identifier: MIT */
/*
 * depth8.c -- 4-byte blocks allocated at the end of random paths of eight calls, every second one
 * lost.
 *
 * Room:   tests only.  depth8 COUNT; lost bytes = COUNT / 2 * 4, peak = lost + 4.
 */
#include "truth.h"

#include <stdlib.h>

static uint32_t seed = 1;

static unsigned dice(void)
{
        seed = seed * 1664525u + 1013904223u;
        return seed >> 28;
}

static void *leaf(void)
{
        return malloc(4);
}

#define BRANCHES(level, next)                                                  \
        static void *left_##level(void) { return next(); }                     \
        static void *right_##level(void) { return next(); }                    \
        static void *level_##level(void) { return dice() & 1 ? left_##level() : right_##level(); }

BRANCHES(1, leaf)
BRANCHES(2, level_1)
BRANCHES(3, level_2)
BRANCHES(4, level_3)
BRANCHES(5, level_4)
BRANCHES(6, level_5)
BRANCHES(7, level_6)
BRANCHES(8, level_7)

int main(int argc, char **argv)
{
        long count = argc > 1 ? atol(argv[1]) : 65536;
        for (long i = 0; i < count; i++) {
                void *p = level_8();
                if (i % 2)
                        free(p);
        }
        truth_say("fact live_bytes=%ld\nfact allocs=%ld\n", count / 2 * 4, count);
        return 0;
}
