/* SPDX-License-Identifier: MIT */
/*
 * tcmalloc.h -- the blocks of gperftools' tcmalloc (2.10), found in the memory of a stopped
 * process.
 *
 * Keeps:  of each span the number of objects that somebody has is told twice, and both must agree.
 *
 * What it writes on 64-bit processors with addresses of 48 bits and pages of 8 KiB, and how it is
 * found:
 *
 *     classes  in the data of the module: a table of sizes that grow from 0, 8, 16 on.
 *     map      two levels: 2^17 words in that data, each the address of 2^18 words elsewhere, which
 *              have the span of each page (radix.h).
 *     spans    pages behind each other: one large block, or objects of one class.  A list has those
 *              of its objects that nobody has.
 *     center   a structure for each class, numbered, behind each other in the data: objects on
 *              their way from one thread to another; spans, by one of which the map is found.
 *     caches   of threads: a list of free objects for each class, with its size, which tells them
 *              from all else.  They are linked with each other, and the data leads to the first.
 *
 * Sizes are those of classes, or of pages: what was asked for is written down nowhere.
 */
#ifndef SEEP_ALLOCATOR_TCMALLOC_H
#define SEEP_ALLOCATOR_TCMALLOC_H

#include "allocator/walk.h"

/* Fill B, to be freed with walk_blocks_free(). */
void tcmalloc_find(struct walk_blocks *b, const struct walk_input *in);

#endif
