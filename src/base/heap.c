/* SPDX-License-Identifier: MIT */
#include "base/heap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void (*heap_empty)(void);

static void *heap_check(void *p, size_t count, size_t size)
{
        if (p)
                return p;
        if (heap_empty)
                heap_empty();
        fprintf(stderr, "seep: out of memory (%zu items of %zu bytes)\n", count, size);
        _Exit(3);
}

void *heap_zero(size_t count, size_t size)
{
        return heap_check(calloc(count ? count : 1, size ? size : 1), count, size);
}

void *heap_grow(void *p, size_t count, size_t size)
{
        return heap_check(reallocarray(p, count ? count : 1, size ? size : 1), count, size);
}

void heap_when_empty(void (*act)(void))
{
        heap_empty = act;
}

char *heap_text(const char *text)
{
        return text ? heap_check(strdup(text), strlen(text) + 1, 1) : NULL;
}
