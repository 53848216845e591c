/* SPDX-License-Identifier: MIT */
/*
 * mangled_none.c -- in place of mangled.c in a build without libiberty: names stay as
 * the compiler wrote them.
 */
#include "names/mangled.h"

#include <stddef.h>

char *mangled_read(const char *name)
{
        (void)name;
        return NULL;
}
