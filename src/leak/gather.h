/* SPDX-License-Identifier: MIT */
/*
 * gather.h -- memory of the searched program in few large reads: one stretch, or words from many
 * places
 *
 * Room:   outside; leak/ and who prepares a search.
 * Cost:   a read is a system call and a look-up of pages, 0.35 us for one word; pages that are read
 *         in a row cost little more.
 */
#ifndef SEEP_LEAK_GATHER_H
#define SEEP_LEAK_GATHER_H

#include "leak/search.h"

#define GATHER_PIECE (UINT64_C(1) << 18) /* stays in the nearest cache while it is looked at */
#define GATHER_GAP 4096u                 /* cheaper to read than to leave out */

/* BYTES from START on; what cannot be read is zero. */
void gather_bytes(const struct search_memory *m, uint64_t start, void *to, size_t bytes);

/* WORDS[i] = the word at ADDRESSES[i], in whatever order these are; COUNT is below 2^32. */
void gather_words(const struct search_memory *m, const uint64_t *addresses, uint64_t *words,
                  size_t count);

#endif
