/* SPDX-License-Identifier: MIT */
/*
 * leak_heap.c -- a heap of a given size and number of blocks to be searched for leaks: at the exit,
 * or while it runs.
 *
 * Room:   a measured program of bench/leaks:  leak_heap BLOCKS MIB exit|run Prints: "ready"; then,
 * when its standard input ends, "longest_ns N" (the longest time in which the program did not get
 * on) and
 *         "leaving_ns N", the clock (CLOCK_MONOTONIC) when it is about to end.
 *
 * A table holds all blocks but a hundred, which are lost.  A tenth of the words are pointers to any
 * block, a tenth random numbers, the rest small numbers.  With "run" a thread writes to a random
 * page again and again and looks at the clock.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOST 100u
#define PATIENCE 64u /* writes between two looks at the clock */

static uint64_t **table;
static size_t blocks, words; /* words of a block */
static volatile int leaving;

static uint64_t random_next(uint64_t *state)
{
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        return *state;
}

static uint64_t now_ns(void)
{
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *must(void *p)
{
        if (!p) {
                perror("leak_heap");
                exit(1);
        }
        return p;
}

static void fill(uint64_t *block, uint64_t *state)
{
        for (size_t i = 0; i < words; i++) {
                uint64_t dice = random_next(state);

                block[i] = dice % 10 == 0   ? (uint64_t)table[LOST + (dice >> 8) % (blocks - LOST)]
                           : dice % 10 == 1 ? dice
                                            : dice >> 44;
        }
}

/* The first ones are lost: nothing points to them but the table, which forgets them. */
static void make_heap(void)
{
        uint64_t state = 88172645463325252ull;

        table = must(malloc(blocks * sizeof *table));
        for (size_t i = 0; i < blocks; i++)
                table[i] = must(malloc(words * sizeof **table));
        for (size_t i = 0; i < blocks; i++)
                fill(table[i], &state);
        memset(table, 0, LOST * sizeof *table);
}

static void *work(void *longest)
{
        uint64_t state = 362436069, before = now_ns(), *most = longest;

        while (!leaving) {
                uint64_t now;

                for (unsigned i = 0; i < PATIENCE; i++) {
                        uint64_t dice = random_next(&state);

                        table[LOST + dice % (blocks - LOST)][(dice >> 32) % words] = dice >> 44;
                }
                now = now_ns();
                if (now - before > *most)
                        *most = now - before;
                before = now;
        }
        return NULL;
}

int main(int argc, char **argv)
{
        uint64_t longest = 0;
        pthread_t worker;
        char byte;

        if (argc != 4) {
                fputs("usage: leak_heap BLOCKS MIB exit|run\n", stderr);
                return 2;
        }
        blocks = strtoul(argv[1], NULL, 10);
        words = (strtoul(argv[2], NULL, 10) << 20) / blocks / sizeof **table;
        make_heap();
        puts("ready");
        fflush(stdout);
        if (strcmp(argv[3], "run") == 0 && pthread_create(&worker, NULL, work, &longest) != 0)
                return 1;
        while (read(STDIN_FILENO, &byte, 1) > 0)
                ;
        leaving = 1;
        if (strcmp(argv[3], "run") == 0)
                pthread_join(worker, NULL);
        printf("longest_ns %llu\nleaving_ns %llu\n", (unsigned long long)longest,
               (unsigned long long)now_ns());
        fflush(stdout);
        return 0;
}
