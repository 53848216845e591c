/* SPDX-License-Identifier: MIT */
/*
 * holes.c -- makes holes in the heap of glibc's malloc and tells where they are, by the addresses
 * of the blocks around them, and what mallinfo2() says of the heap.
 *
 * usage: holes [wait]      wait: with all in place, until standard input ends
 */
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LOW = 100, MANY = 1000 };

static void *low[LOW], *many[MANY], *last;

static void fill_low(void)
{
        for (int i = 0; i < LOW; i++)
                low[i] = malloc(3000);
}

static void fill_many(void)
{
        for (int i = 0; i < MANY; i++)
                many[i] = malloc(2000);
}

static void pin(void)
{
        last = malloc(40);
}

/* From the chunk of FIRST to that of NEXT; so many blocks are from there to the end. */
static void tell_hole(const void *first, const void *next, int above)
{
        fprintf(stderr, "hole %#lx %lu %d\n", (unsigned long)first - 16,
                (unsigned long)next - (unsigned long)first, above);
}

int main(int argc, char **argv)
{
        struct mallinfo2 info;
        char byte;

        (void)argv;
        mallopt(M_MMAP_THRESHOLD, 1 << 30);
        fill_low();
        fill_many();
        pin();
        for (int i = 1; i < MANY; i++) /* one stays at the low end */
                free(many[i]);
        tell_hole(many[1], last, 1);
        for (int i = 1; i < LOW; i += 2) {
                free(low[i]);
                tell_hole(low[i], i + 1 < LOW ? low[i + 1] : many[0], (LOW - i) / 2 + 2);
        }
        info = mallinfo2();
        fprintf(stderr, "info %zu %zu %zu %zu\n", info.arena, info.uordblks, info.fordblks,
                info.keepcost);
        fprintf(stderr, "last %#lx\n", (unsigned long)last);
        while (argc > 1 && read(0, &byte, 1) > 0)
                continue;
        return 0;
}
