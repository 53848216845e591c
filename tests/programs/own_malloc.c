/* SPDX-License-Identifier: MIT */
/*
 * own_malloc.c -- a program with an allocator linked into it, which loses a block of it.
 *
 * Room:   tests only.  Built with -rdynamic, so that libraries call it too.
 * Lines:  fact lost=BYTES
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "truth.h"

static _Alignas(16) unsigned char pool[1 << 20];
static size_t used;

void *malloc(size_t size)
{
        size_t at = used + 16;

        if (size > sizeof pool - at - 16)
                return NULL;
        used = (at + size + 15) & ~(size_t)15;
        memcpy(pool + at - sizeof size, &size, sizeof size);
        return pool + at;
}

void free(void *p)
{
        (void)p;
}

void *calloc(size_t count, size_t size)
{
        return malloc(count * size); /* never handed out twice: it is zero */
}

void *realloc(void *p, size_t size)
{
        size_t old = 0;
        void *made = malloc(size);

        if (p)
                memcpy(&old, (unsigned char *)p - sizeof old, sizeof old);
        if (made)
                memcpy(made, p ? p : "", old < size ? old : size);
        return made;
}

int main(void)
{
        void *volatile lost = malloc(1000);

        lost = NULL;
        truth_say("fact lost=1000\n");
        return lost != NULL;
}
