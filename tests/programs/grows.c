/* SPDX-License-Identifier: MIT */
/*
 * grows.c -- a heap that grows by one function, then, after SEEP_TAG("half"), by another, in step
 * with the clock.
 *
 * Room:   tests only.
 * Usage:  grows keep|free MS    both phases take so long; the blocks are kept at the end, or all
 *                               are freed
 *         grows lose MS         one phase, of blocks that are lost at once, each with another one
 *                               that only it leads to
 * Lines:  fact blocks=.. bytes=.., of what the functions allocated;
 */
#include <stdlib.h>
#include <time.h>

#include "seep.h"
#include "truth.h"

enum { PER_MS = 20, SIZE = 200, HANGING = 600 };

static void **held;
static size_t count;

static long now_ms(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static __attribute__((noinline)) void *grow_first(void)
{
        return malloc(SIZE);
}

static __attribute__((noinline)) void *grow_second(void)
{
        return malloc(SIZE);
}

/* Nothing is kept. */
static __attribute__((noinline)) void *lose_a_list(void)
{
        void **first = malloc(SIZE);

        *first = calloc(1, HANGING);
        return NULL;
}

static void grow(void *(*take)(void), long ms)
{
        long start = now_ms(), passed;
        size_t before = count;

        do {
                passed = now_ms() - start;
                while (count - before < (size_t)(passed < ms ? passed : ms) * PER_MS)
                        held[count++] = take();
                nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
        } while (passed < ms);
}

int main(int argc, char **argv)
{
        long ms = argc > 2 ? atol(argv[2]) : 500;

        held = calloc((size_t)ms * 2 * PER_MS + 1, sizeof *held);
        if (strcmp(argv[1], "lose") == 0) {
                grow(lose_a_list, ms);
                truth_say("fact blocks=%zu bytes=%zu\n", count, count * (SIZE + HANGING));
                return 0;
        }
        grow(grow_first, ms);
        SEEP_TAG("half");
        grow(grow_second, ms);
        truth_say("fact blocks=%zu bytes=%zu\n", count, count * SIZE);
        if (strcmp(argv[1], "keep") == 0)
                return 0;
        while (count)
                free(held[--count]);
        free(held);
        return 0;
}
