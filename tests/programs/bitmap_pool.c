/* SPDX-License-Identifier: MIT */
/*
 * bitmap_pool.c -- a pool that marks what is taken by bits: no pointer to a block is left when that
 * is given back.
 *
 * Room:   tests only.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EACH 64

static char *memory;
static uint64_t used;

__attribute__((noinline, noipa)) void *slot_take(size_t size)
{
        int first = __builtin_ctzll(~used);

        if (!memory)
                memory = malloc(64 * EACH);
        used |= 1ull << first;
        return memset(memory + first * EACH, 0, size);
}

__attribute__((noinline, noipa)) void slot_give(void *block)
{
        used &= ~(1ull << (((char *)block - memory) / EACH));
}

__attribute__((noinline, noipa)) static void work(int count)
{
        void *blocks[32];

        for (int i = 0; i < count; i++)
                blocks[i] = slot_take(40);
        for (int i = 0; i < count; i++)
                slot_give(blocks[i]);
        memset(blocks, 0, sizeof blocks);
        __asm__ volatile("" : : "r"(blocks) : "memory");
}

int main(void)
{
        work(20);
        return 0;
}
