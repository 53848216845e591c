/* SPDX-License-Identifier: MIT */
#include "base/c_library.h"

#include <string.h>

/* The loader's name depends on the processor: ld-linux-x86-64.so.2, ld64.so.1 (s390x), ld.so.1
 * (powerpc).  Before 2.34 glibc's files were named after its version, and those names were links:
 * ld-2.31.so.  "libc-" alone would be libc-client, too. */
bool c_library_has(const char *path)
{
        static const char *const fronts[] = { "libc.so",       "libc-2.",  "libc.musl-", "ld-linux",
                                              "ld-musl",       "ld-2.",    "ld64.so",    "ld.so.",
                                              "libpthread.so", "libpthread-2." };
        const char *slash = strrchr(path, '/'), *name = slash && slash[1] ? slash + 1 : path;

        for (size_t i = 0; i < sizeof fronts / sizeof *fronts; i++)
                if (strncmp(name, fronts[i], strlen(fronts[i])) == 0)
                        return true;
        return false;
}
