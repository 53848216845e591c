/* SPDX-License-Identifier: MIT */
/*
 * espresso.c -- covers of bit vectors that grow, are sorted, merged and made anew: what minimisers
 * of logic do with memory.
 *
 * Room:   a measured program of bench/run:  espresso ROUNDS
 * Prints: how many cubes are left, and a checksum.
 *
 * A cube is a block of some words; a cover is an array of pointers that is enlarged by realloc().
 * Sizes differ from function to function, and whole covers are copied and freed: blocks of 16 to
 * 20,000 bytes with lifetimes of very different lengths.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cover {
        uint64_t **cubes;
        size_t count, room, words;
};

static uint64_t state = 88172645463325252u;

static uint64_t dice(void)
{
        state ^= state << 13;
        state ^= state >> 7;
        return state ^= state << 17;
}

static void *must(void *p)
{
        if (!p)
                exit(1);
        return p;
}

static uint64_t *cube_copy(const uint64_t *from, size_t words)
{
        return memcpy(must(malloc(words * sizeof *from)), from, words * sizeof *from);
}

static void cover_add(struct cover *c, uint64_t *cube)
{
        if (c->count == c->room) {
                c->room = c->room ? c->room + c->room / 2 + 1 : 8;
                c->cubes = must(realloc(c->cubes, c->room * sizeof *c->cubes));
        }
        c->cubes[c->count++] = cube;
}

static void cover_free(struct cover *c)
{
        for (size_t i = 0; i < c->count; i++)
                free(c->cubes[i]);
        free(c->cubes);
        *c = (struct cover){ .words = c->words };
}

static struct cover cover_random(size_t cubes, size_t words)
{
        struct cover c = { .words = words };

        for (size_t i = 0; i < cubes; i++) {
                uint64_t *cube = must(calloc(words, sizeof *cube));

                for (size_t k = 0; k < words; k++)
                        cube[k] = dice() & dice() & dice();
                cover_add(&c, cube);
        }
        return c;
}

static size_t words_now; /* for qsort() */

static int by_bits(const void *a, const void *b)
{
        return memcmp(*(uint64_t *const *)a, *(uint64_t *const *)b, words_now * sizeof(uint64_t));
}

static void cover_sort(struct cover *c)
{
        words_now = c->words;
        if (c->count)
                qsort(c->cubes, c->count, sizeof *c->cubes, by_bits);
}

/* Neighbours that differ in few bits become one. */
static struct cover cover_merge(const struct cover *c)
{
        struct cover merged = { .words = c->words };

        for (size_t i = 0; i < c->count; i++) {
                uint64_t *cube = cube_copy(c->cubes[i], c->words);
                size_t apart = 0;

                for (size_t k = 0; merged.count && k < c->words; k++)
                        apart += (size_t)__builtin_popcountll(cube[k] ^
                                                              merged.cubes[merged.count - 1][k]);
                if (merged.count && apart < 12 * c->words) {
                        for (size_t k = 0; k < c->words; k++)
                                merged.cubes[merged.count - 1][k] |= cube[k];
                        free(cube);
                } else {
                        cover_add(&merged, cube);
                }
        }
        return merged;
}

/* All pairs of two covers, as far as they have anything in common. */
static struct cover cover_intersect(const struct cover *a, const struct cover *b)
{
        struct cover both = { .words = a->words };

        for (size_t i = 0; i < a->count; i += 3)
                for (size_t j = i % 5; j < b->count; j += 7) {
                        uint64_t *cube = cube_copy(a->cubes[i], a->words), any = 0;

                        for (size_t k = 0; k < a->words; k++)
                                any |= cube[k] &= b->cubes[j][k];
                        if (any % 4)
                                cover_add(&both, cube);
                        else
                                free(cube);
                }
        return both;
}

int main(int argc, char **argv)
{
        long rounds = argc > 1 ? atol(argv[1]) : 100;
        uint64_t check = 0, left = 0;

        for (long round = 0; round < rounds; round++) {
                size_t words = 2 + dice() % 6;
                struct cover a = cover_random(200 + dice() % 200, words),
                             b = cover_random(100 + dice() % 300, words), both, merged;

                cover_sort(&a);
                cover_sort(&b);
                both = cover_intersect(&a, &b);
                cover_free(&a);
                cover_sort(&both);
                merged = cover_merge(&both);
                cover_free(&both);
                cover_free(&b);
                left += merged.count;
                for (size_t i = 0; i < merged.count; i++)
                        check = check * 31 + merged.cubes[i][0];
                cover_free(&merged);
        }
        printf("cubes %llu check %llu\n", (unsigned long long)left, (unsigned long long)check);
        return 0;
}
