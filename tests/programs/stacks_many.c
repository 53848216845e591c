/* SPDX-License-Identifier: MIT */
/*
 * stacks_many.c -- more call stacks than a ledger in little address space can hold.
 *
 *     stacks_many DEPTH
 *
 * Blocks of first() come before, and are freed after, 2^DEPTH stacks that each allocate a block
 * once.
 */
#include <stdio.h>
#include <stdlib.h>

#define FIRST 1000

static void *blocks[FIRST], *volatile last;

__attribute__((noinline)) static void *first(void)
{
        return malloc(100);
}

__attribute__((noinline)) static long left(long depth, long path);

__attribute__((noinline)) static long right(long depth, long path)
{
        if (depth == 0)
                return last = malloc(1 + path % 7), free(last), 1;
        return left(depth - 1, path * 2) + right(depth - 1, path * 2 + 1);
}

__attribute__((noinline)) static long left(long depth, long path)
{
        if (depth == 0)
                return last = malloc(2 + path % 5), free(last), 1;
        return left(depth - 1, path * 2 + 1) + right(depth - 1, path * 2) + 0;
}

int main(int argc, char **argv)
{
        long made;

        for (int i = 0; i < FIRST; i++)
                blocks[i] = first();
        made = left(argc > 1 ? strtol(argv[1], NULL, 10) : 4, 1);
        for (int i = 0; i < FIRST; i += 2)
                free(blocks[i]);
        printf("%ld stacks\n", made);
        return 0;
}
