/* SPDX-License-Identifier: MIT */
/*
 * resource.h -- anything with a handle that the program acquires and releases.
 *
 * Room:   inside; any context, with the thread THREAD_ACTIVE.
 * Keeps:  a handle acquired again counts as released before; a release of an
 *         unknown one is no event.
 * Cost:   a capture of the whole stack and a hash look-up: meant for things that cost a system
 *         call.
 */
#ifndef SEEP_AGENT_RESOURCE_H
#define SEEP_AGENT_RESOURCE_H

#include "agent/thread.h"

/* The kind for a type's name.  The last kind is for all types beyond. */
uint32_t resource_kind(const char *type);

void resource_acquire(struct thread *t, uint32_t kind, uint64_t handle, uint64_t amount,
                      struct arch_state caller);
void resource_release(struct thread *t, uint32_t kind, uint64_t handle, struct arch_state caller);

/* All handles from FIRST to LAST. */
void resource_release_range(struct thread *t, uint32_t kind, uint64_t first, uint64_t last);

#endif
