/* SPDX-License-Identifier: MIT */
/*
 * queue.h -- changes to lists that threads and signal handlers share, applied one after another
 * without anybody waiting.
 *
 * Room:   inside; any context.
 * Keeps:  an operation is put on a list of pending ones; whoever gets the lock applies all of them
 *         in the order of their tickets.  A thread or signal handler that finds the lock taken
 *         leaves its operation to the holder.
 *
 * Two threads map memory at the same time, and a signal handler interrupts the one that applies:
 *
 *     thread A                           thread B               handler in A
 *
 *     submit a, lock, take the list {a}  submit b
 *     apply a                            lock is taken: return
 *     ... interrupted ...                                       submit h, lock is taken: return
 *     unlock; the list is {b, h}:
 *     lock, apply b, h, unlock
 *
 * Nobody waits, so a handler cannot deadlock with the thread that it interrupted.  The price: an
 * operation may be applied later, by another thread, and after an operation that was begun later.
 * Therefore each has a ticket, and what it does depends on tickets only (region.h).  Whoever
 * unlocks looks at the list once more, so nothing stays behind.
 *
 * A fork copies the list and not the threads.  The forking thread first applies everything
 * (queue_settle); in the child, operations that a vanished thread had in hand are given back, and
 * those on the list are applied by the next one who comes (queue_forked).
 */
#ifndef SEEP_AGENT_QUEUE_H
#define SEEP_AGENT_QUEUE_H

#include "agent/thread.h"

struct operation {
        void (*apply)(struct thread *t, const struct operation *o);
        uint64_t first, second, ticket; /* first, second: as APPLY means them */
        uint32_t site, thread, birth_ms;
        uint32_t used;
        uint32_t flags; /* as APPLY means them */
        struct operation *next;
};

bool queue_start(void);
void queue_forked(const struct thread *t);

uint64_t queue_ticket(void);

/* An empty operation for the calling thread; NULL when too many are pending: the event is lost. */
struct operation *queue_new(struct thread *t);

/* The same for something that CALLER made: site (of KIND), thread, birth and ticket are filled
 * in. */
struct operation *queue_new_at(struct thread *t, uint32_t kind, struct arch_state caller);

/* Hand O in; T is the calling thread. */
void queue_submit(struct thread *t, struct operation *o);

/* Apply everything that was handed in before, also what another thread has begun to apply: it will
 * not be there in a forked child. */
void queue_settle(struct thread *t);

#endif
