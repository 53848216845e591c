/* SPDX-License-Identifier: MIT */
/*
 * ring.h -- every event, in order, for the observer to write down (record --events).
 *
 * Room:   inside; any context, with the thread THREAD_ACTIVE.
 * Keeps:  the order of two events on one address is the order in which they happened: a release is
 *         put down before the real one, an allocation after it.
 * Cost:   one atomic addition and 32 bytes; when the ring is full the thread waits for the
 *         observer.
 */
#ifndef SEEP_AGENT_RING_H
#define SEEP_AGENT_RING_H

#include "agent/agent.h"
#include "agent/thread.h"

bool ring_start(void);

/* Note libraries that have come meanwhile. */
void ring_look(void);

/* T may be NULL: an event of no thread.  What the numbers mean: enum ledger_event_type. */
void ring_write(const struct thread *t, enum ledger_event_type type, uint32_t kind, uint32_t site,
                uint64_t address, uint64_t size);

static inline void ring_put(const struct thread *t, enum ledger_event_type type, uint32_t kind,
                            uint32_t site, uint64_t address, uint64_t size)
{
        if (unlikely(agent.special & SPECIAL_RING))
                ring_write(t, type, kind, site, address, size);
}

#endif
