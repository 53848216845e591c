/* SPDX-License-Identifier: MIT */
/*
 * musl.h -- the blocks of musl's malloc (mallocng, since musl 1.2.1), found in memory that stands
 * still.
 *
 * Room:   outside.  Nothing is written, and no symbol is needed.
 * Keeps:  no byte is trusted: every number and pointer is checked, every walk ends.
 *
 * What it writes, and how it is found:
 *
 *     context     in the data of libc: a secret, and where the first meta area is, which begins
 *                 with the same secret.
 *     meta areas  pages of their own, a list: each has descriptors of groups.
 *     groups      slots of one size behind each other, or one slot that is a mapping.  Bits of the
 *                 descriptor say which are free.  A group may lie in a slot of a larger one, which
 *                 says so in the byte before it.
 *     slots       what malloc gave begins somewhere in the slot, told at its start; how many
 *                 bytes were asked for is told before the block and at the slot's end.
 */
#ifndef SEEP_ALLOCATOR_MUSL_H
#define SEEP_ALLOCATOR_MUSL_H

#include <stdbool.h>
#include <stdint.h>

#include "leak/search.h"

struct musl_input {
        struct search_memory memory;
        const struct search_range *data; /* writable data of modules that may have malloc */
        uint32_t data_count;
};

struct musl_blocks {
        struct search_range *at; /* by address: what was asked for */
        uint64_t count;
        struct search_range *own; /* by address: memory that is the allocator's, with its blocks */
        uint32_t own_count;
        uint64_t context;  /* 0: there is no such malloc, or it was never called */
        char trouble[256]; /* ""; or what could not be read */
};

/* Fill B, to be freed with musl_blocks_free(). */
void musl_find(struct musl_blocks *b, const struct musl_input *in);
void musl_blocks_free(struct musl_blocks *b);

#endif
