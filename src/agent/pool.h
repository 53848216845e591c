/* SPDX-License-Identifier: MIT */
/*
 * pool.h -- blocks of the program's own allocators (SEEP_ALLOC), which mostly lie
 * inside blocks of malloc.
 *
 * Room:   inside; any context, with the thread THREAD_ACTIVE.
 * Keeps:  no byte is counted twice: what is handed out of an arena is taken off the arena's own
 *         site, and comes back to it.  An arena that is released takes the blocks inside with it.
 * Cost:   as malloc's; finding the arena is a search that the thread remembers the result of.
 */
#ifndef SEEP_AGENT_POOL_H
#define SEEP_AGENT_POOL_H

#include <stddef.h>

#include "agent/thread.h"

void pool_alloc(struct thread *t, uint64_t address, size_t size, struct arch_state caller);
void pool_free(struct thread *t, uint64_t address, struct arch_state caller);

/* [START, END) is released: a block of malloc of SITE, or a mapping (0). */
void pool_range_gone(struct thread *t, uint64_t start, uint64_t end, uint32_t site,
                     struct arch_state caller);

/* The live block that ADDRESS lies in: its start, its size, its site; site 0: none. */
struct pool_block {
        uint64_t start, size;
        uint32_t site;
};

struct pool_block pool_around(struct thread *t, uint64_t address);

#endif
