/* SPDX-License-Identifier: MIT */
/*
 * huge_array.h -- large arrays with random access: in huge pages where the system has them.
 *
 * Room:   outside; leak/ and who makes lists of blocks for it.  Released with free().
 * Cost:   with 4 KiB pages every other access to such an array would first miss the table of pages.
 */
#ifndef SEEP_LEAK_HUGE_ARRAY_H
#define SEEP_LEAK_HUGE_ARRAY_H

#include <stddef.h>

/* As heap_zero(). */
void *huge_array_zero(size_t count, size_t size);

/* As heap_grow(). */
void *huge_array_grow(void *p, size_t count, size_t size);

#endif
