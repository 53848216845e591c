/* SPDX-License-Identifier: MIT */
/*
 * parallel.h -- the same work on many parts, with as many threads as there are processors.
 *
 * Room:   outside; any layer.
 * Keeps:  parts are begun in their order, each by whoever is free.  The threads are there for one
 *         call only, with all signals blocked; where none can be had the caller does all of it.
 */
#ifndef SEEP_BASE_PARALLEL_H
#define SEEP_BASE_PARALLEL_H

#include <stdint.h>

#define PARALLEL_MOST 16u /* threads */

/* How many threads are worth it: processors that this process may use, PARALLEL_MOST at most. */
uint32_t parallel_threads(void);

/* SLOT is below the number of threads, and of nobody else meanwhile: for memory of one's own.  The
 * caller's is 0. */
typedef void parallel_work(void *context, uint32_t slot, uint32_t part);

/* WORK is called for each of PARTS parts, by THREADS threads at most, the caller among them. */
void parallel_run(uint32_t threads, uint32_t parts, parallel_work *work, void *context);

#endif
