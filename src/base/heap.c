/* SPDX-License-Identifier: MIT */
#include "base/heap.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void (*heap_empty)(void);

_Noreturn void heap_none(void)
{
        if (heap_empty)
                heap_empty();
        fprintf(stderr, "seep: out of memory\n");
        _Exit(3);
}

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

void *heap_dense(size_t count, size_t size)
{
        const uintptr_t huge = 2u << 20;
        uintptr_t p = (uintptr_t)heap_zero(count, size), start = (p + huge - 1) & ~(huge - 1), end = (p + count * size) & ~(huge - 1);

        if (end > start)
                madvise((void *)start, end - start, MADV_HUGEPAGE); /* where it cannot be had, pages are small */
        return (void *)p;
}

void heap_when_empty(void (*act)(void))
{
        heap_empty = act;
}

char *heap_text(const char *text)
{
        return text ? heap_check(strdup(text), strlen(text) + 1, 1) : NULL;
}
