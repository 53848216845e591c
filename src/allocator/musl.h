/* SPDX-License-Identifier: MIT */
/*
 * musl.h -- the blocks of musl's malloc (mallocng, since musl 1.2.1), found in the memory of a
 * stopped process.
 *
 * Keeps:  a block ends where what was asked for ends.
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

#include "allocator/walk.h"

/* Fill B, to be freed with walk_blocks_free(). */
void musl_find(struct walk_blocks *b, const struct walk_input *in);

#endif
