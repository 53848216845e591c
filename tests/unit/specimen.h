/* SPDX-License-Identifier: MIT */
/*
 * specimen.h -- ledgers made by hand, for tests of what reads them.
 *
 * Room:   tests.  Every entry is plain memory: a test may write anything into it.
 */
#ifndef SEEP_TESTS_UNIT_SPECIMEN_H
#define SEEP_TESTS_UNIT_SPECIMEN_H

#include <stdint.h>

#include "collect/view.h"
#include "ledger/ledger.h"

struct specimen {
        int fd;
        uint64_t bytes;
        struct ledger_head *head;
};

/* An empty, valid ledger: the two root nodes, site 0, thread 0, no slot. */
void specimen_open(struct specimen *f);
void specimen_close(struct specimen *f);

/* The start of a part in memory. */
void *specimen_part(const struct specimen *f, enum ledger_part part);

/* Each adds an entry and returns its number. */
uint32_t specimen_node(struct specimen *f, uint32_t parent, uint64_t pc);
uint32_t specimen_site(struct specimen *f, uint32_t node, uint32_t kind);
uint32_t specimen_slot(struct specimen *f, uint32_t thread);
uint32_t specimen_thread(struct specimen *f, uint32_t tid, uint32_t slot, const char *name);
uint32_t specimen_chunk(struct specimen *f, uint64_t base, uint32_t plane);

struct ledger_slot *specimen_slot_at(const struct specimen *f, uint32_t slot);
struct ledger_counter *specimen_counter(struct specimen *f, uint32_t slot, uint32_t site);

/* Entry ENTRY of shadow chunk CHUNK becomes a block. */
void specimen_block(struct specimen *f, uint32_t chunk, uint32_t entry, uint32_t site,
                    uint64_t size, uint32_t thread);

/* COUNT allocations of SIZE bytes and FREES frees at SITE, in the counter and the slot's totals. */
void specimen_events(struct specimen *f, uint32_t slot, uint32_t site, uint64_t count,
                     uint64_t frees, uint64_t size);

/* Opened, with NODES nodes of few addresses, so that many are equal, and a site with one allocation
 * for each: its number is the size, to find it again. */
void specimen_tree(struct specimen *f, uint32_t nodes);

/* A text in STRINGS; its offset. */
uint32_t specimen_string(struct specimen *f, const char *text);

/* A mark, and its index; a type of resources, and its kind; a handle. */
uint32_t specimen_mark(struct specimen *f, uint32_t type, uint32_t ms, const char *label);
uint32_t specimen_type(struct specimen *f, const char *name);
void specimen_handle(struct specimen *f, uint64_t handle, uint64_t amount, uint32_t site);

/* Entry AT of the table of deaths. */
void specimen_death(struct specimen *f, uint32_t at, uint64_t key, uint64_t blocks, uint64_t bytes);

/* A fresh look at it, as the observer gets; to be closed by the caller. */
struct view specimen_view(const struct specimen *f);

/* The next number of a fixed sequence. */
uint64_t specimen_random(uint64_t *state);

#endif
