/* SPDX-License-Identifier: MIT */
/*
 * demangle.c -- names as the programmer wrote them, by libiberty.
 *
 * Room:   outside.
 */
#include "symbol/demangle.h"

#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"

/* "memcpy@@GLIBC_2.14" is memcpy. */
static char *demangle_unversioned(const char *name)
{
        char *plain = heap_text(name);
        char *at = strchr(plain, '@');

        if (at && at != plain)
                *at = 0;
        return plain;
}

static char *demangle_try(const char *name)
{
        int style = DMGL_AUTO;

        if (strncmp(name, "_D", 2) == 0)
                style = DMGL_DLANG;
        else if (strncmp(name, "_Z", 2) != 0 && strncmp(name, "_R", 2) != 0 && strncmp(name, "__Z", 3) != 0)
                return NULL;
        return cplus_demangle(name, DMGL_PARAMS | DMGL_ANSI | style);
}

char *demangle_name(const char *name)
{
        char *plain = demangle_unversioned(name);
        char *readable = demangle_try(plain);

        if (!readable)
                return plain;
        free(plain);
        return readable;
}
