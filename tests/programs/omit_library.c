/* SPDX-License-Identifier: MIT */
/*
 * omit_library.c -- allocates and releases for omit.cpp, which keeps the account.
 *
 * Room:   tests only.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>

void *library_make(size_t size);
void *library_resize(void *p, size_t size);
void library_drop(void *p);
void *library_map(void *at, size_t size);
void *library_remap(void *p, size_t old, size_t size);
void library_unmap(void *p, size_t size);

/* Each result is kept in a variable: a call in the last place would be a jump, and its caller the
 * program. */
void *library_make(size_t size)
{
        void *volatile p = malloc(size);
        return p;
}

void *library_resize(void *old, size_t size)
{
        void *volatile p = realloc(old, size);
        return p;
}

void library_drop(void *p)
{
        free(p);
}

void *library_map(void *at, size_t size)
{
        void *volatile p = mmap(at, size, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);
        return p;
}

void *library_remap(void *old, size_t old_size, size_t size)
{
        void *volatile p = mremap(old, old_size, size, MREMAP_MAYMOVE);
        return p;
}

void library_unmap(void *p, size_t size)
{
        munmap(p, size);
}
