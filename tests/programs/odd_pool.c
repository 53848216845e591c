/* SPDX-License-Identifier: MIT */
/*
 * odd_pool.c -- an allocator of the program's own that hands out blocks at any byte, one directly
 * behind the other: odd_pool [drop]
 *
 * Room:   tests only.  See leak.h.  Standard output has a line "ADDRESS BYTES" for each block that
 *         is live at the end.
 */
#include "leak.h"

#include <stdio.h>

#include "seep.h"

#define PIECES 3000u
#define ARENA 65536u

static char *arena;
static size_t used;
static void *held[PIECES];

LEAK_ALONE static void *kept_piece(size_t size)
{
        SEEP_ALLOC(arena + used, size);
        return arena + used;
}

LEAK_ALONE static void lost_piece(size_t size)
{
        SEEP_ALLOC(arena + used, size);
}

LEAK_ALONE static void freed_piece(size_t size)
{
        SEEP_ALLOC(arena + used, size);
        SEEP_FREE(arena + used);
        SEEP_FREE(arena + used + size + 1); /* nobody's: no harm */
}

/* A block that came back and went out again is as any other. */
LEAK_ALONE static void ignored_piece(size_t size)
{
        SEEP_ALLOC(arena + used, size + 1);
        SEEP_FREE(arena + used);
        SEEP_ALLOC(arena + used, size);
        SEEP_IGNORE(arena + used);
}

int main(int argc, char **argv)
{
        static const unsigned char sizes[] = {3, 1, 7, 11, 8, 5, 2, 13, 40};
        arena = malloc(ARENA);
        used = 1;
        for (unsigned i = 0; i < PIECES; i++) {
                size_t size = sizes[i % sizeof sizes];
                switch (i % 4) {
                case 0:
                        held[i] = kept_piece(size);
                        leak_note(REACHABLE, "kept_piece", size);
                        break;
                case 1:
                        lost_piece(size);
                        leak_note(DEFINITE, "lost_piece", size);
                        break;
                case 2:
                        freed_piece(size);
                        break;
                default:
                        ignored_piece(size);
                        leak_note(REACHABLE, "ignored_piece", size);
                }
                if (i % 4 != 2 && argc < 2)
                        printf("%zu %zu\n", (size_t)(arena + used), size);
                used += size;
        }
        if (argc > 1) {
                free(arena);
                arena = NULL;
        } else {
                leak_tell();
        }
        leak_wipe();
        return 0;
}
