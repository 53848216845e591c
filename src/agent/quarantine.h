/* SPDX-License-Identifier: MIT */
/*
 * quarantine.h -- freed blocks that are kept back for a while, oldest out first (record
 * --quarantine).
 *
 * While a block is in here its address is not handed out again.  So a second release of it is seen
 * as what it is, with the stack of the first one, and no innocent block is in its place.
 *
 * Room:   inside; any context.
 * Keeps:  a ring without locks.  A place is taken by one compare-and-swap; whoever is interrupted
 *         between that and the end of its writing (a signal, a fork) makes later ones find the ring
 *         full, and then blocks are released at once.
 */
#ifndef SEEP_AGENT_QUARANTINE_H
#define SEEP_AGENT_QUARANTINE_H

#include "agent/thread.h"

struct book_release;

/* Make the ring for agent.quarantine bytes; false: none wanted, or no memory. */
bool quarantine_start(void);

/* The block GONE at ADDRESS was released by R for CALLER: keep it.  False: it does
 * not fit, release it now. */
bool quarantine_put(struct thread *t, const struct ledger_block *gone, uint64_t address,
                    const struct book_release *r, struct arch_state caller);

/* The node of the stack that released the block at ADDRESS; 0: it is not in here. */
uint32_t quarantine_freed_by(uint64_t address);

/* Release what is too much.  With the thread inside a real function (hook_call). */
void quarantine_drain(void);

/* The same with all of it: before a library goes whose operator delete may be wanted, or when there
 * is no memory left.  True: something was released. */
bool quarantine_empty(void);

#endif
