/* SPDX-License-Identifier: MIT */
/*
 * sampled.c -- allocations of known sums by known functions in two threads, for estimates to be
 * compared with: SEEP_TAG("half") between two equal halves.  Prints NAME ALLOCATIONS BYTES
 * LIVE_BLOCKS LIVE_BYTES per function.
 *
 * Room:   tests only.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "seep.h"

enum { SMALL = 100, MIDDLE = 3000, LARGE = 200000, SMALLS = 100000, MIDDLES = 4000, LARGES = 100 };

static void *kept[2 * (SMALLS + MIDDLES + LARGES)];
static int kept_count;

#define MAKER(name)                                                            \
        static __attribute__((noinline)) void *name(size_t size)               \
        {                                                                      \
                void *p = malloc(size);                                        \
                                                                               \
                __asm__ volatile("" : "+r"(p));                                \
                return p;                                                      \
        }

MAKER(small)
MAKER(middle)
MAKER(large)

static __attribute__((noinline)) void *grow(void *p, size_t size)
{
        p = realloc(p, size);
        __asm__ volatile("" : "+r"(p));
        return p;
}

/* Of COUNT blocks every other one is kept. */
static void make(void *(*maker)(size_t), int count, size_t size)
{
        for (int i = 0; i < count; i++) {
                void *p = maker(size);

                if (i % 2)
                        kept[kept_count++] = p;
                else
                        free(p);
        }
}

static void half(void)
{
        make(small, SMALLS, SMALL);
        make(middle, MIDDLES, MIDDLE);
        make(large, LARGES, LARGE);
}

static void *thread(void *unused)
{
        (void)unused;
        half();
        return NULL;
}

int main(void)
{
        pthread_t other;
        void *p = NULL;

        half();
        SEEP_TAG("half");
        pthread_create(&other, NULL, thread, NULL);
        pthread_join(other, NULL);
        for (int i = 1; i <= 1000; i++)
                p = grow(p, (size_t)i * 1000);
        free(p);
        printf("small %d %d %d %d\n", 2 * SMALLS, 2 * SMALLS * SMALL, SMALLS, SMALLS * SMALL);
        printf("middle %d %d %d %d\n", 2 * MIDDLES, 2 * MIDDLES * MIDDLE, MIDDLES,
               MIDDLES * MIDDLE);
        printf("large %d %d %d %d\n", 2 * LARGES, 2 * LARGES * LARGE, LARGES, LARGES * LARGE);
        printf("grow 1000 %d 0 0\n", 1000 * 1001 / 2 * 1000);
        return 0;
}
