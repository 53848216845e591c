/* SPDX-License-Identifier: MIT */
/* by_prefix.c -- what an allocator lacks whose functions a program calls by names of their own
 * (-Dmalloc=je_malloc). */
#include <malloc.h>
#include <stdlib.h>

void *reallocarray(void *old, size_t count, size_t size)
{
	return realloc(old, count * size);
}

#ifdef WITHOUT_ALIGNED_ALLOC
void *aligned_alloc(size_t align, size_t size)
{
	return memalign(align, size);
}
#endif
