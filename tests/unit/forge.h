/* SPDX-License-Identifier: MIT */
/*
 * forge.h -- ledgers made by hand, for tests of what reads them.
 *
 * Room:   tests.  Every entry is plain memory: a test may write anything into it.
 */
#ifndef SEEP_TESTS_UNIT_FORGE_H
#define SEEP_TESTS_UNIT_FORGE_H

#include <stdint.h>

#include "ledger/ledger.h"
#include "observe/view.h"

struct forge {
        int fd;
        uint64_t bytes;
        struct ledger_head *head;
};

/* An empty, valid ledger: the two root nodes, site 0, thread 0, no slot. */
void forge_open(struct forge *f);
void forge_close(struct forge *f);

/* The start of a part in memory. */
void *forge_part(const struct forge *f, enum ledger_part part);

/* Each adds an entry and returns its number. */
uint32_t forge_node(struct forge *f, uint32_t parent, uint64_t pc);
uint32_t forge_site(struct forge *f, uint32_t node, uint32_t kind);
uint32_t forge_slot(struct forge *f, uint32_t thread);
uint32_t forge_thread(struct forge *f, uint32_t tid, uint32_t slot, const char *name);
uint32_t forge_chunk(struct forge *f, uint64_t base, uint32_t plane);

struct ledger_slot *forge_slot_at(const struct forge *f, uint32_t slot);
struct ledger_counter *forge_counter(struct forge *f, uint32_t slot, uint32_t site);

/* Entry ENTRY of shadow chunk CHUNK becomes a block. */
void forge_block(struct forge *f, uint32_t chunk, uint32_t entry, uint32_t site, uint64_t size, uint32_t thread);

/* COUNT allocations of SIZE bytes and FREES frees at SITE, in the counter and the slot's totals. */
void forge_events(struct forge *f, uint32_t slot, uint32_t site, uint64_t count, uint64_t frees, uint64_t size);

/* A fresh look at it, as the observer gets; to be closed by the caller. */
struct view forge_view(const struct forge *f);

/* The next number of a fixed sequence. */
uint64_t forge_random(uint64_t *state);

#endif
