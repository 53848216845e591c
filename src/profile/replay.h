/* SPDX-License-Identifier: MIT */
/*
 * replay.h -- the sums of an event log: the same totals, peak and live blocks that the ledger has.
 *
 * Keeps:  the sums are the book's, by the same code that counts while recording (profile/feed.h).
 *         Which block is at an address is told by a table of our own: the ledger's shadow takes
 *         memory for the addresses that were ever used, 4 KiB for a block alone among 8 KiB, and
 *         here a file says what these are.
 * Cost:   about 50 ns an event; 48 bytes for each live block, twice to four times.
 */
#ifndef SEEP_PROFILE_REPLAY_H
#define SEEP_PROFILE_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "ledger/ledger.h"

struct replay_block {
        uint64_t address, size;
        uint64_t number; /* of the event that allocated it, from 1 */
        uint32_t site, ms;
        uint16_t thread;
        uint8_t kind;
        bool used;
};

struct replay_totals {
        uint64_t events;
        uint64_t allocations, frees, bytes_allocated;
        uint64_t live_blocks, live_bytes;
        uint64_t peak_bytes, peak_ms; /* the first moment with so many bytes */
        uint64_t unknown_frees, double_frees, mismatched;
        uint64_t mmap_calls, mmap_bytes, mmap_live_bytes;
        uint64_t strangers; /* releases of blocks whose allocation is not in the log */
};

struct replay;
struct replay *replay_new(void);
void replay_free(struct replay *r);

/* The log has lost its first COUNT events: the next one has number COUNT + 1.  Before any event. */
void replay_begin_after(struct replay *r, uint64_t count);

void replay_event(struct replay *r, const struct ledger_event *e);

/* How many events there were, and what they add up to. */
uint64_t replay_events(const struct replay *r);
struct replay_totals replay_totals(const struct replay *r);

/* What happened at SITE; zeros for one that never was. */
const struct ledger_counter *replay_site(const struct replay *r, uint32_t site);

/* The live block that a FREE or TAKE is about, NULL if it is not known.  Before replay_event() of
 * it. */
const struct replay_block *replay_find(const struct replay *r, uint64_t address, uint32_t kind);

/* In the middle of a realloc: what THREAD took last; NULL when it did not. */
const struct replay_block *replay_taken(const struct replay *r, uint16_t thread);

/* The live blocks, in no order, one for each I below COUNT that is `used`. */
const struct replay_block *replay_blocks(const struct replay *r, uint64_t *count);

#endif
