/* SPDX-License-Identifier: MIT */
/*
 * glibc.h -- the blocks of glibc's malloc, found in the memory of a stopped process.
 *
 * Keeps:  a heap that does not lead to its end is told, with how far it went.
 * Cost:   one pass over the heap in pieces of 256 KiB; a read for each block in a free list.
 *
 * What glibc 2.26 to 2.40 and some later ones write, and how it is found:
 *
 *     main_arena   in the data of libc.  The heads of its 127 bins are pairs of pointers, which
 *                  point to themselves where a bin is empty.  All else of struct malloc_state has
 *                  its place relative to them: fast bins and top before, next and the sizes behind.
 *     mp_          in the same data: the number of mapped bytes, and where brk began.
 *     arenas       a circle by their next pointers.  Those of threads lie in heaps, at multiples of
 *                  64 MiB (1 MiB with words of 4 bytes; four huge pages where those are used),
 *                  each with struct heap_info at its start; the heaps of an arena are a list that
 *                  ends at the first.
 *     chunks       follow each other without a gap from the start of a heap to top, or to a pair of
 *                  fence posts.  One is free when the next says so.  Those in fast bins and in the
 *                  caches of threads (tcache) are not marked: these lists are walked.
 *     mapped       blocks that are large have a mapping of their own, which begins with its size.
 */
#ifndef SEEP_ALLOCATOR_GLIBC_H
#define SEEP_ALLOCATOR_GLIBC_H

#include <stdbool.h>
#include <stdint.h>

#include "allocator/walk.h"

/* As it is at the start of each heap of a thread's arena; what follows is of no interest. */
struct glibc_heap_info {
        uint64_t arena;    /* behind the first heap of the arena */
        uint64_t previous; /* heap of this arena; 0: the first */
        uint64_t size, writable;
};

/* HEAP_MAX_SIZE without huge pages: heaps lie at multiples of it. */
#define GLIBC_HEAP (64ull << 20)

/* Whether H, read at AT, is one of a heap that has at most MOST bytes.  WIDTH: bytes of a word. */
bool glibc_is_heap_info(const struct glibc_heap_info *h, uint64_t at, uint64_t most,
                        uint32_t width);

/* Fill B, to be freed with walk_blocks_free(). */
void glibc_find(struct walk_blocks *b, const struct walk_input *in);

#endif
