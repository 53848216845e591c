/* SPDX-License-Identifier: MIT */
/*
 * jemalloc.h -- the blocks of jemalloc 5.3, found in the memory of a stopped process.
 *
 * Keeps:  of each slab the number of free regions is told twice, and both must agree.
 *
 * What it writes on 64-bit processors with addresses of 48 bits, and how it is found:
 *
 *     tree     two levels of 2^18 words.  The root lies in the data of the module, and has the
 *              address of a leaf for each GiB; a leaf has a word for each page: the address of an
 *              extent's descriptor, the class of its size, and whether it is a slab.  A pointer in
 *              that data is a leaf where descriptors tell the address at which they are entered;
 *              that address also tells where the root begins.
 *     extents  pages behind each other: one large block, or a slab with regions of one size.  The
 *              descriptor has a bit for each region that is free.
 *     caches   of threads, in thread-local storage: stacks of regions that are free and not marked
 *              so, one for each class.  They lie behind each other, which tells them from all else.
 *     base     where descriptors, leaves and arenas lie: a list of mappings.
 *
 * Sizes are those of classes: what was asked for is written down nowhere.
 */
#ifndef SEEP_ALLOCATOR_JEMALLOC_H
#define SEEP_ALLOCATOR_JEMALLOC_H

#include "allocator/walk.h"

/* Fill B, to be freed with walk_blocks_free(). */
void jemalloc_find(struct walk_blocks *b, const struct walk_input *in);

#endif
