/* SPDX-License-Identifier: MIT */
#include "leak/huge_array.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/heap.h"

#define HUGE_PAGE ((size_t)2 << 20)

void *huge_array_zero(size_t count, size_t size)
{
        size_t bytes;
        void *p;

        if (__builtin_mul_overflow(count, size, &bytes) || bytes < HUGE_PAGE ||
            bytes > SIZE_MAX - HUGE_PAGE)
                return heap_zero(count, size);
        bytes = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
        p = aligned_alloc(HUGE_PAGE, bytes);
        if (!p)
                return heap_zero(count, size); /* which says so */
        madvise(p, bytes, MADV_HUGEPAGE); /* no matter if there are none */
        return memset(p, 0, bytes);
}

/* All of it is advised, or a part of a huge page would be a mapping of another kind, and what is
 * many mappings cannot be moved: realloc() would copy it and have it twice for a moment. */
void *huge_array_grow(void *p, size_t count, size_t size)
{
        uintptr_t page;

        p = heap_grow(p, count, size);
        page = (uintptr_t)p & ~(uintptr_t)4095;
        if (count * size >= 2 * HUGE_PAGE) /* only what is not yet there changes */
                madvise((void *)page, (uintptr_t)p + malloc_usable_size(p) - page, MADV_HUGEPAGE);
        return p;
}
