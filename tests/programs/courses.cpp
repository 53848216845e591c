// SPDX-License-Identifier: MIT
/*
 * courses.cpp -- stacks whose live memory takes a known course over time, some of them behind
 * wrappers.
 *
 * Room:   tests only.
 *
 *   start_up            one block of 100,000 bytes, kept
 *   leak      240 times one of 1,000 bytes through xmalloc, kept
 *   cache     240 times one of 3,000 bytes; of more than 10 all are freed
 *   table     a vector<int> of 5,000 elements (and the 24 bytes of the vector itself), kept
 *   walk      recursion of three, 64 bytes at its end, kept
 *
 * Between two rounds it sleeps for 4 ms, so that the observer sees the course.  Tags "ready" and
 * "over", a snapshot "half". It prints how many milliseconds the longest round took, and all of
 * them: where others had the processor for a large part of the run, the course is another one.
 */
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include <unistd.h>

#include "seep.h"

enum { ROUNDS = 240, CACHED = 10 };

static void *kept[ROUNDS + 10];
static int kept_count;

extern "C" __attribute__((noinline)) void *xmalloc(size_t size)
{
        void *p = malloc(size);

        if (!p)
                abort();
        return p;
}

__attribute__((noinline)) static void start_up()
{
        kept[kept_count++] = malloc(100000);
}

__attribute__((noinline)) static void leak()
{
        kept[kept_count++] = xmalloc(1000);
}

__attribute__((noinline)) static void cache()
{
        static void *blocks[CACHED];
        static int count;

        if (count == CACHED)
                while (count)
                        free(blocks[--count]);
        blocks[count++] = malloc(3000);
}

__attribute__((noinline)) static void table()
{
        std::vector<int> *numbers = new std::vector<int>;

        numbers->reserve(5000);
        kept[kept_count++] = numbers;
}

__attribute__((noinline)) static void walk(int depth)
{
        if (depth > 1)
                walk(depth - 1);
        else
                kept[kept_count++] = malloc(64);
}

static long now_ms()
{
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int main()
{
        struct timespec pause = {0, 4000000};
        char text[64];

        start_up();
        table();
        walk(3);
        SEEP_TAG("ready");
        long begun = now_ms(), before = begun, longest = 0;
        for (int i = 0; i < ROUNDS; i++) {
                leak();
                cache();
                if (i == ROUNDS / 2)
                        SEEP_SNAPSHOT("half");
                nanosleep(&pause, NULL);
                long now = now_ms();
                if (now - before > longest)
                        longest = now - before;
                before = now;
        }
        SEEP_TAG("over");
        if (write(1, text, snprintf(text, sizeof text, "%ld %ld\n", longest, before - begun)) < 0)
                return 1;
        return 0;
}
