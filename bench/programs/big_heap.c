/* SPDX-License-Identifier: MIT */
/*
 * big_heap.c -- many live blocks, replaced at random: every event misses the cache, in the heap and
 * in the ledger.
 *
 * Room:   a measured program of bench/run:  big_heap BLOCKS REPLACEMENTS Prints: "ns_per_event
 * N.NN" of the replacements, and a checksum of the sizes that is the same on every run.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t random_next(uint64_t *state)
{
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        return *state;
}

/* Small blocks are common, large ones rare, as in most programs: mean about 150 bytes. */
static size_t size_of(uint64_t random)
{
        unsigned shift = (unsigned)(random >> 60) & 3;
        return 16 + (random >> 32) % (64u << shift);
}

static void *fresh(uint64_t random, uint64_t *sum)
{
        size_t size = size_of(random);
        char *block = malloc(size);
        if (!block) {
                perror("big_heap: malloc");
                exit(1);
        }
        block[0] = 1; /* the program touches what it asked for, as programs do */
        block[size - 1] = 1;
        *sum += size;
        return block;
}

static double replace_all(void **blocks, size_t count, long replacements, uint64_t *sum)
{
        uint64_t state = 88172645463325252ull;
        struct timespec from, to;
        clock_gettime(CLOCK_MONOTONIC, &from);
        for (long i = 0; i < replacements; i++) {
                uint64_t random = random_next(&state);
                void **slot = &blocks[random % count];
                free(*slot);
                *slot = fresh(random, sum);
        }
        clock_gettime(CLOCK_MONOTONIC, &to);
        return (double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec);
}

int main(int argc, char **argv)
{
        size_t count = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
        long replacements = argc == 3 ? atol(argv[2]) : 0;
        uint64_t state = 1, sum = 0;
        if (!count || replacements < 1) {
                fprintf(stderr, "usage: big_heap BLOCKS REPLACEMENTS\n");
                return 2;
        }
        void **blocks = calloc(count, sizeof(*blocks));
        if (!blocks) {
                perror("big_heap: calloc");
                return 1;
        }
        for (size_t i = 0; i < count; i++)
                blocks[i] = fresh(random_next(&state), &sum);
        double ns = replace_all(blocks, count, replacements, &sum);
        printf("checksum %llu\nns_per_event %.2f\n", (unsigned long long)sum,
               ns / (2.0 * (double)replacements));
        return 0;
}
