/* SPDX-License-Identifier: MIT */
/* lost.h -- a block that nobody holds, and a stack that has no old pointer to it. */
#ifndef SEEP_TESTS_LOST_H
#define SEEP_TESTS_LOST_H

#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) static void lose(size_t bytes)
{
        char *volatile p = malloc(bytes);

        memset(p, 1, bytes);
        p = NULL;
}

__attribute__((noinline)) static void clear_stack(void)
{
        volatile char room[4096];

        memset((char *)room, 0, sizeof room);
}

#endif
