/* SPDX-License-Identifier: MIT */
/*
 * many_events.c -- a long life with a small heap: nothing of a recording may grow with the number
 * of events.
 *
 * Room:   a measured program of bench/run:  many_events EVENTS   (mallocs plus frees)
 * Prints: "ns_per_event N.NN".
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { LIVE_BLOCKS = 1024 };

static void *live[LIVE_BLOCKS];

static uint32_t random_next(uint32_t *state)
{
        *state ^= *state << 13;
        *state ^= *state >> 17;
        *state ^= *state << 5;
        return *state;
}

/* Four places that allocate, so that the recording has more than one stack; the comment keeps them
 * apart. */
#define PLACE(n)                                                                                 \
        static __attribute__((noinline)) void *place_##n(size_t size)                   \
        {                                                                                        \
                void *block = malloc(size);                                                      \
                __asm__ volatile("# place " #n : "+r"(block) : : "memory");                      \
                return block;                                                                    \
        }
PLACE(0)
PLACE(1)
PLACE(2)
PLACE(3)

static __attribute__((noinline)) void replace(uint32_t random)
{
        void **slot = &live[random % LIVE_BLOCKS];
        size_t size = 16 + (random >> 12) % 240;
        free(*slot);
        switch (random >> 30) {
        case 0:
                *slot = place_0(size);
                break;
        case 1:
                *slot = place_1(size);
                break;
        case 2:
                *slot = place_2(size);
                break;
        default:
                *slot = place_3(size);
        }
}

int main(int argc, char **argv)
{
        long events = argc == 2 ? atol(argv[1]) : 0;
        uint32_t state = 2463534242u;
        struct timespec from, to;
        if (events < 2) {
                fprintf(stderr, "usage: many_events EVENTS\n");
                return 2;
        }
        clock_gettime(CLOCK_MONOTONIC, &from);
        for (long i = 0; i < events / 2; i++)
                replace(random_next(&state));
        clock_gettime(CLOCK_MONOTONIC, &to);
        for (int i = 0; i < LIVE_BLOCKS; i++)
                free(live[i]);
        double ns = (double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec);
        printf("ns_per_event %.2f\n", ns / (double)events);
        return 0;
}
