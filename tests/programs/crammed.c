/* SPDX-License-Identifier: MIT */
/*
 * crammed.c -- a heap of many small blocks, for runs in which memory is scarce.
 *
 *     crammed BLOCKS SIZE
 *
 * Makes BLOCKS blocks of SIZE bytes in a list that a variable holds, and loses one more, of 1000
 * bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct link {
        struct link *next;
};

static struct link *list;
static char *volatile lost;

static void make(long blocks, size_t size)
{
        for (long i = 0; i < blocks; i++) {
                struct link *l = malloc(size);

                if (!l)
                        exit(9);
                memset(l, 0, size);
                l->next = list;
                list = l;
        }
}

static void lose(void)
{
        lost = malloc(1000);
        memset(lost, 1, 1000);
        lost = NULL;
}

int main(int argc, char **argv)
{
        long blocks = argc > 2 ? strtol(argv[1], NULL, 10) : 0;

        make(blocks, argc > 2 ? strtoul(argv[2], NULL, 10) : 16);
        lose();
        printf("%ld blocks\n", blocks);
        fflush(stdout);
        return 0;
}
