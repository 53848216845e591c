/* SPDX-License-Identifier: MIT */
/*
 * heap.h -- memory allocation that ends the command when there is no memory.
 *
 * Keeps:  what is allocated here is released with free().
 */
#ifndef SEEP_BASE_HEAP_H
#define SEEP_BASE_HEAP_H

#include <stddef.h>

/* COUNT zeroed elements of SIZE bytes; never NULL (COUNT 0 gives one element).
 * Overflow counts as "no memory". */
void *heap_zero(size_t count, size_t size);

/* The same, in huge pages when it is large: for arrays that are filled from the start, without
 * gaps. */
void *heap_dense(size_t count, size_t size);

/* All of the BYTES at P are about to be written: get their pages in one step, which costs half as
 * much as one page fault after another. */
void heap_ready(void *p, size_t bytes);

/* heap_zero() and heap_ready(), for memory that will be written from start to end. */
void *heap_full(size_t count, size_t size);

/* P resized to COUNT elements of SIZE bytes; new elements are not cleared. */
void *heap_grow(void *p, size_t count, size_t size);

/* P with space for one element more than COUNT, for lists that grow one by one.  The capacity
 * follows from COUNT: the next power of two, at least 16. */
static inline void *heap_next(void *p, size_t count, size_t size)
{
        if (count & (count - 1) || (count && count < 16))
                return p;
        return heap_grow(p, count ? count * 2 : 16, size);
}

/* There is no memory: call the function of heap_when_empty(), or print a message and exit. */
_Noreturn void heap_none(void);

/* Set a function to call instead of printing a message and exiting; it must not return. */
void heap_when_empty(void (*act)(void));

/* A copy of TEXT; NULL for NULL. */
char *heap_text(const char *text);

#endif
