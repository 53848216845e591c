/* SPDX-License-Identifier: MIT */
/*
 * stacks_nocfi.c -- a frame-pointer chain in code compiled without unwind tables.
 *
 * Room:   tests only; compiled with -fno-asynchronous-unwind-tables -fno-unwind-tables
 *         -fno-omit-frame-pointer, also in -O2 runs.
 */
#include <stddef.h>

void *nocfi_outer(void *(*callback)(void), int depth);

__attribute__((noinline)) static void *nocfi_inner(void *(*callback)(void))
{
        void *volatile p = callback();
        return p;
}

__attribute__((noinline)) void *nocfi_outer(void *(*callback)(void), int depth)
{
        char *volatile buffer = __builtin_alloca((size_t)depth * 16);
        buffer[0] = 0;
        void *volatile p = depth ? nocfi_outer(callback, depth - 1) : nocfi_inner(callback);
        return p;
}
