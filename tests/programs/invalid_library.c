/* SPDX-License-Identifier: MIT */
/*
 * invalid_library.c -- makes and drops blocks for invalid.cpp.
 *
 * Room:   tests only.
 */
#include <stdlib.h>

void *plug_make(size_t size);
void plug_drop(void *p);

void *plug_make(size_t size)
{
        return malloc(size);
}

void plug_drop(void *p)
{
        free(p);
}
