/* SPDX-License-Identifier: MIT */
/*
 * shrinking.c -- a heap of some 85 MiB shrinks to nothing and grows again; a few blocks live all
 * the time.
 *
 * Room:   tests only.  usage: shrinking [MIB]: one block of so many MiB lives all the time, too.
 * When it is small it says so, and goes on when a byte comes.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define COUNT 800000
#define SURVIVORS 100

static void *blocks[COUNT], *survivors[SURVIVORS];

static void grow(void)
{
        for (int i = 0; i < COUNT; i++)
                blocks[i] = malloc(104);
}

static void shrink(void)
{
        for (int i = 0; i < COUNT; i++)
                free(blocks[i]);
        malloc_trim(0);
}

int main(int argc, char **argv)
{
        void *large = argc > 1 ? malloc((size_t)atoi(argv[1]) << 20) : NULL;
        char byte;

        for (int i = 0; i < SURVIVORS; i++)
                survivors[i] = malloc(1000);
        grow();
        shrink();
        puts("small");
        fflush(stdout);
        if (read(0, &byte, 1) != 1)
                return 1;
        grow();
        shrink();
        for (int i = 0; i < SURVIVORS; i++)
                free(survivors[i]);
        free(large);
        return 0;
}
