/* SPDX-License-Identifier: MIT */
/*
 * heap.h -- memory allocation that ends the command when there is no memory.
 *
 * Room:   outside; any layer.  Released with free().
 */
#ifndef SEEP_BASE_HEAP_H
#define SEEP_BASE_HEAP_H

#include <stddef.h>

/* COUNT zeroed elements of SIZE bytes; never NULL (COUNT 0 gives one element).
 * Overflow counts as "no memory". */
void *heap_zero(size_t count, size_t size);

/* The same, of large pages where it is much: for what is filled from its start on, without
 * holes. */
void *heap_dense(size_t count, size_t size);

/* BYTES at P are about to be written, all of them: their pages are had at once, which costs the
 * kernel half of what it takes for one after another. */
void heap_ready(void *p, size_t bytes);

/* heap_zero() of what will be written from its start to its end. */
void *heap_full(size_t count, size_t size);

/* P resized to COUNT elements of SIZE bytes; what is new is not cleared. */
void *heap_grow(void *p, size_t count, size_t size);

/* P with room for one element more than COUNT: for lists that grow one by one.  P has room for all
 * that COUNT says, up to the next power of two. */
static inline void *heap_next(void *p, size_t count, size_t size)
{
        if (count & (count - 1) || (count && count < 16))
                return p;
        return heap_grow(p, count ? count * 2 : 16, size);
}

/* There is none: what heap_when_empty() was told, or a message, and the end. */
_Noreturn void heap_none(void);

/* What is done when there is no memory, instead of a message and the end; it must not return. */
void heap_when_empty(void (*act)(void));

/* A copy of TEXT; NULL for NULL. */
char *heap_text(const char *text);

#endif
