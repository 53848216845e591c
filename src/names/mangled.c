/* SPDX-License-Identifier: MIT */
#include "names/mangled.h"

#include <libiberty/demangle.h>
#include <string.h>

char *mangled_read(const char *name)
{
        int style = DMGL_AUTO;

        if (strncmp(name, "_D", 2) == 0)
                style = DMGL_DLANG;
        else if (strncmp(name, "_Z", 2) != 0 && strncmp(name, "_R", 2) != 0 &&
                 strncmp(name, "__Z", 3) != 0)
                return NULL;
        return cplus_demangle(name, DMGL_PARAMS | DMGL_ANSI | style);
}
