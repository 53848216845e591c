/* SPDX-License-Identifier: MIT */
/*
 * keeper.c -- a library (-DLIBRARY) that keeps what it is given and never allocates, so that none
 * of its code is on a recorded stack; and a program that gives it a block, and has rows of a
 * matrix.
 *
 * Room:   tests only.
 */
#ifdef LIBRARY

static char *library_kept;

void library_keep(char *block)
{
        library_kept = block;
}

#else

#include <stdlib.h>

#include "truth.h"

void library_keep(char *block);

static int (*rows)[4];

int main(void)
{
        char *block = malloc(100);

        rows = malloc(3 * sizeof *rows);
        truth_say("fact block=%zu rows=%zu\n", (size_t)block, (size_t)rows);
        library_keep(block);
        block = NULL;
        return 0;
}

#endif
