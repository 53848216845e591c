/* SPDX-License-Identifier: MIT */
/* descent.c -- one line allocates by ten stacks of different depths, another one by a single stack
 * that has more than each of them. */
#include <stdlib.h>

static void *kept[16];

__attribute__((noinline)) static void *leaf(size_t size)
{
        return malloc(size);
}

__attribute__((noinline)) static void down(int depth, int slot)
{
        if (depth)
                down(depth - 1, slot);
        else
                kept[slot] = leaf(6000);
        __asm__ volatile("" : : : "memory");
}

__attribute__((noinline)) static void single(void)
{
        kept[15] = malloc(40000);
}

int main(void)
{
        for (int i = 0; i < 10; i++)
                down(i, i);
        single();
        return kept[0] == NULL;
}
