/* SPDX-License-Identifier: MIT */
/*
 * many_stacks.c -- as many distinct call stacks as wanted, with blocks that stay and blocks that
 * are lost.
 *
 * Room:   a measured program of bench/stacks:  many_stacks STACKS [ROUNDS [BLOCKS]]
 * Prints: nothing.
 *
 * Sixty-four functions call each other, each at two places: a stack is a path down a binary tree of
 * 20 calls, the bits of its number say which place of each function it came through.  Every stack
 * allocates BLOCKS blocks (1): every 16th stack loses one, every fourth frees them, the others keep
 * them in a list.  ROUNDS more times (3) every eighth stack allocates once more, so that the course
 * of the run has changes.
 */
#include <stdint.h>
#include <stdlib.h>

#define DEPTH 20u

struct kept {
        struct kept *next;
        uint64_t number;
};

static struct kept *list;
static uint32_t blocks = 1;

__attribute__((noinline)) static void *get(uint32_t bytes)
{
        void *volatile block = malloc(bytes);

        return block;
}

__attribute__((noinline)) static void use(uint32_t number)
{
        struct kept *volatile one;

        for (uint32_t i = 0; i < blocks; i++) {
                one = get((uint32_t)sizeof *one + number % 48);
                if (number % 4 == 3) {
                        free(one);
                } else if (number % 16 == 1 && i == 0) {
                        one->number = number; /* lost */
                } else {
                        one->next = list;
                        list = one;
                }
                one = NULL;
        }
}

typedef void step(uint32_t number, uint32_t level);
static step *const steps[64];

/* Not a tail call: something is left to do after each. */
#define STEP(n)                                                                \
        __attribute__((noinline)) static void step_##n(uint32_t number, uint32_t level) \
        {                                                                      \
                volatile uint32_t after = level;                               \
                uint32_t left = (n * 2u + 1u) % 64u, right = (n * 2u + 2u) % 64u; \
                                                                               \
                if (level == 0)                                                \
                        use(number);                                           \
                else if (number >> (level - 1) & 1)                            \
                        steps[right](number, level - 1);                       \
                else                                                           \
                        steps[left](number, level - 1);                        \
                after = level + 1;                                             \
                (void)after;                                                   \
        }

#define EIGHT(X, a) X(a##0) X(a##1) X(a##2) X(a##3) X(a##4) X(a##5) X(a##6) X(a##7)
#define SIXTY_FOUR(X)                                       \
        EIGHT(X, 0) EIGHT(X, 01) EIGHT(X, 02) EIGHT(X, 03)  \
        EIGHT(X, 04) EIGHT(X, 05) EIGHT(X, 06) EIGHT(X, 07)

SIXTY_FOUR(STEP) /* octal: 00 to 077 */

#define NAME(n) step_##n,
static step *const steps[64] = { SIXTY_FOUR(NAME) };

__attribute__((noinline)) static void take(uint32_t number)
{
        volatile uint32_t after = number;

        steps[number >> DEPTH & 63](number, DEPTH);
        after = 0;
        (void)after;
}

int main(int argc, char **argv)
{
        uint32_t stacks = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1000000;
        uint32_t rounds = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 3;

        blocks = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 1;
        for (uint32_t round = 0; round <= rounds; round++)
                for (uint32_t i = round & 7; i < stacks; i += round ? 8 : 1)
                        take(i);
        return 0;
}
