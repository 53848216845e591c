/* SPDX-License-Identifier: MIT */
/*
 * beside.c -- large blocks, each with a mapping of its own, and mappings of the program's beside
 * them: the kernel makes one of what lies side by side.  Those of 2 MiB or more it may align.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { EACH = 1 << 20, MAPPINGS = 32 };

int main(void)
{
        static char *first, *mapped[MAPPINGS], *last;

        first = malloc(EACH);
        for (int i = 0; i < MAPPINGS; i++)
                mapped[i] = mmap(NULL, EACH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                                 -1, 0);
        last = malloc(EACH);
        memset(first, 1, EACH);
        memset(last, 1, EACH);
        for (int i = 0; i < MAPPINGS; i++)
                memset(mapped[i], 1, EACH);
        free(malloc(100));
        return 0;
}
