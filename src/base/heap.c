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
        uintptr_t p = (uintptr_t)heap_zero(count, size), start = (p + huge - 1) & ~(huge - 1),
                  end = (p + count * size) & ~(huge - 1);

        if (end > start)
                /* Where it cannot be had, pages are small. */
                madvise((void *)start, end - start, MADV_HUGEPAGE);
        return (void *)p;
}

void heap_ready(void *p, size_t bytes)
{
#ifdef MADV_POPULATE_WRITE /* Linux 5.14; without it nothing is lost */
        const uintptr_t page = 4096, worth = 64 * page;
        uintptr_t start = ((uintptr_t)p + page - 1) & ~(page - 1),
                  end = ((uintptr_t)p + bytes) & ~(page - 1);

        if (end > start + worth)
                madvise((void *)start, end - start, MADV_POPULATE_WRITE);
#else
        (void)p;
        (void)bytes;
#endif
}

void *heap_full(size_t count, size_t size)
{
        void *p = heap_zero(count, size);

        heap_ready(p, count * size);
        return p;
}

void heap_when_empty(void (*act)(void))
{
        heap_empty = act;
}

char *heap_text(const char *text)
{
        return text ? heap_check(strdup(text), strlen(text) + 1, 1) : NULL;
}
