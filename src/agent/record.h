/* SPDX-License-Identifier: MIT */
/*
 * record.h -- what an event does to the ledger.
 *
 * Room:   inside; any context.  Called by the hooks.
 * Keeps:  order with the real call: record_free and record_take before it, record_alloc after it.
 */
#ifndef SEEP_AGENT_RECORD_H
#define SEEP_AGENT_RECORD_H

#include <stddef.h>

#include "agent/thread.h"

/* ADDRESS was allocated: SIZE bytes by KIND (enum ledger_kind) for CALLER. */
void record_alloc(struct thread *t, void *address, size_t size, uint32_t kind, const struct arch_state *caller);

/* ADDRESS is about to be released by a function of FAMILY. */
void record_free(struct thread *t, void *address, uint32_t family, const struct arch_state *caller);

/* ADDRESS is about to be passed to realloc: its entry is set aside, so that whoever gets the address meanwhile starts clean.
 * Afterwards either record_put_back (realloc failed) or record_taken (the block is gone) must follow. */
struct record_taken {
        struct ledger_block *entry; /* NULL: unknown block */
        struct ledger_block block;
};

struct record_taken record_take(struct thread *t, void *address, const struct arch_state *caller);
void record_put_back(struct thread *t, const struct record_taken *taken);
void record_taken(struct thread *t, const struct record_taken *taken, void *address);

#endif
