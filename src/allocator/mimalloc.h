/* SPDX-License-Identifier: MIT */
/*
 * mimalloc.h -- the blocks of mimalloc 2.0, found in the memory of a stopped process.
 *
 * Keeps:  of each page the number of free blocks is told twice, and both must agree.
 *
 * What it writes on 64-bit processors, built as most systems do (without MI_SECURE, MI_DEBUG), and
 * how it is found:
 *
 *     main heap  in the data of the module: queues of pages, with the block sizes that they are
 *                for, which nothing else looks like; behind them a random cookie.
 *     segments   at multiples of 32 MiB.  Each has its own address XOR that cookie in its head,
 *                and descriptors of its slices of 64 KiB behind.
 *     pages      slices with blocks of one size: three lists have those that are free.
 *     heaps      of threads, which pages name: a list of blocks that other threads have freed.
 *
 * Sizes are those of classes: what was asked for is written down nowhere.  Where a block was got
 * with an alignment, it may begin further inside than told: that is written down nowhere, either.
 */
#ifndef SEEP_ALLOCATOR_MIMALLOC_H
#define SEEP_ALLOCATOR_MIMALLOC_H

#include "allocator/walk.h"

/* Fill B, to be freed with walk_blocks_free(). */
void mimalloc_find(struct walk_blocks *b, const struct walk_input *in);

#endif
