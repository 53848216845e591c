/* SPDX-License-Identifier: MIT */
/*
 * events.c -- argv[1] pairs of malloc and free from four places: a long run in a small heap.
 *
 * Room:   tests only.
 */
#include "truth.h"

#include <stdlib.h>

#define PLACE(name)                                                            \
        static void name(size_t n)                                             \
        {                                                                      \
                void *volatile p = malloc(n);                                  \
                free(p);                                                       \
        }

PLACE(place_a)
PLACE(place_b)
PLACE(place_c)
PLACE(place_d)

int main(int argc, char **argv)
{
        long pairs = argc > 1 ? atol(argv[1]) : 1000000;
        for (long i = 0; i < pairs; i += 4) {
                place_a(10);
                place_b((size_t)i % 1000);
                place_c(100);
                place_d(5000);
        }
        truth_say("fact allocs=%ld\n", pairs);
        return 0;
}
