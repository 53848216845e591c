/* SPDX-License-Identifier: MIT */
/*
 * nameless.c -- two functions that allocate at several lines each, and one that both call.
 *
 * Room:   tests only.  Without its symbols, unwind tables alone tell their addresses apart.
 */
#include <stdio.h>
#include <stdlib.h>

static void *kept[64], *gone;
static int count;

__attribute__((noinline)) static void shared(size_t size)
{
        kept[count++] = malloc(size);
        kept[count++] = malloc(size + 1);
}

__attribute__((noinline)) static void first(void)
{
        kept[count++] = malloc(100);
        kept[count++] = malloc(200);
        kept[count++] = malloc(300);
        shared(1000);
}

__attribute__((noinline)) static void second(int lose)
{
        kept[count++] = malloc(10);
        kept[count++] = malloc(20);
        shared(2000);
        if (lose) {
                gone = malloc(50000);
                gone = malloc(60000);
                gone = NULL;
        }
}

int main(int argc, char **argv)
{
        (void)argv;
        first();
        second(argc > 1);
        return 0;
}
