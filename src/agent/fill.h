/* SPDX-License-Identifier: MIT */
/*
 * fill.h -- fresh memory is overwritten, freed memory is cleared (record --fill).
 *
 * A block that is used again and not written holds the pointers of the one before it, and a
 * search for leaks would follow them.  Only what the program asked for is overwritten; nothing
 * else of a block is ever searched.
 *
 * Room:   inside; any context, with the thread THREAD_ACTIVE.
 * Cost:   about 15 ns for a block of 64 bytes, filled and cleared (bench: loop, 10 frames deep).
 */
#ifndef SEEP_AGENT_FILL_H
#define SEEP_AGENT_FILL_H

#include <stddef.h>
#include <stdint.h>

/* SIZE bytes at ADDRESS were allocated by KIND.  What calloc gave stays, and realloc is
 * dealt with by fill_grown. */
void fill_fresh(void *address, size_t size, uint32_t kind);

/* realloc made SIZE bytes at ADDRESS of OLD bytes, which are kept. */
void fill_grown(void *address, size_t old, size_t size);

/* The block of SIZE bytes at ADDRESS was freed and is kept back.  If it has a mapping of its own,
 * that stays without a block in it; a search for leaks takes such memory for the program's and
 * would follow what it holds.  With and without --fill. */
void fill_kept(uint64_t address, uint64_t size);

/* SIZE bytes at ADDRESS are about to be freed. */
void fill_gone(uint64_t address, uint64_t size);

#endif
