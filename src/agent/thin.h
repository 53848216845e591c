/* SPDX-License-Identifier: MIT */
/*
 * thin.h -- a ledger that has little room left is written to more seldom (record --limit-ledger).
 *
 * Room:   inside; any context.
 * Keeps:  what was recorded before stays exact.  From a moment on a few blocks are recorded for
 *         many (sample.h), then fewer and fewer, each step taking a quarter of the room that is
 *         left; in the end no new ones, which are counted as lost.  Releases are always followed.
 */
#ifndef SEEP_AGENT_THIN_H
#define SEEP_AGENT_THIN_H

#include "agent/thread.h"

void thin_start(void);

/* Whether nothing was ever written where the entry of ADDRESS is.  To read there would make the
 * kernel put memory behind it. */
bool thin_is_empty(struct thread *t, uint64_t address);

/* Something is about to be, at B. */
void thin_touch(const struct ledger_block *b);

/* In the child of a fork, alone. */
void thin_forked(void);

/* What a block is recorded by that is born now. */
struct thin_stage {
        uint64_t mean;    /* one in so many bytes; 0: every one */
        uint32_t from_ms; /* its birth is not before */
        uint32_t number;  /* 0: not thinned */
};

struct thin_stage thin_now(void);

/* The birth of a block of STAGE: never one that would make it another's, whatever the clock is by
 * now. */
uint32_t thin_birth(const struct thin_stage *stage);

/* The mean of a block that was recorded in a thinned ledger, by its birth. */
uint64_t thin_mean(uint32_t birth_ms);

#endif
