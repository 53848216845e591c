/* SPDX-License-Identifier: MIT */
/*
 * history.h -- what was live at earlier moments, for stacks, threads and sizes with lasting
 * numbers.
 *
 * Keeps:  a key (of a call stack, a thread, a size) has one number for good.  Moments are kept for
 *         HISTORY_SPAN_MS, and the last one before that.
 */
#ifndef SEEP_TOP_HISTORY_H
#define SEEP_TOP_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/lookup.h"
#include "profile/model.h"

#define HISTORY_SPAN_MS 60000u
#define HISTORY_STEP_MS 2000u /* moments older than the last two are this far apart */
#define HISTORY_UNKNOWN UINT64_MAX

struct history_numbers {
        uint64_t live_bytes, live_blocks, allocs;
        uint64_t birth_ms; /* of the live blocks, on average; HISTORY_UNKNOWN */
};

/* Zeroed: before everything. */
struct history_moment {
        uint64_t ms;
        struct profile_slice sum; /* of the whole heap */
        struct history_numbers *all; /* by number; what is not there did not exist yet */
        uint32_t count;
        bool blocks; /* threads and sizes are known, too */
};

struct history {
        struct lookup numbers; /* by key */
        struct history_moment *moments; /* oldest first */
        uint32_t moment_count;
};

/* The number of KEY: an index into the numbers of moments. */
uint32_t history_number(struct history *h, uint64_t key);

/* The place for NUMBER in M, which grows. */
struct history_numbers *history_place(struct history_moment *m, uint32_t number);

/* What is known of NUMBER at M; nothing where M is NULL. */
struct history_numbers history_of(const struct history_moment *m, uint32_t number);

/* M is moved, and later than those that are there. */
void history_add(struct history *h, struct history_moment *m);

/* The newest moment that is not later than MS, else the oldest; NULL: there is none.
 * BLOCKS: of those with blocks. */
const struct history_moment *history_at(const struct history *h, uint64_t ms, bool blocks);

/* The newest, and the one before it; NULL: there is none. */
const struct history_moment *history_newest(const struct history *h);
const struct history_moment *history_previous(const struct history *h, bool blocks);

struct history_moment history_copy(const struct history_moment *m);
void history_moment_free(struct history_moment *m);

/* Forget the moments; numbers stay. */
void history_clear(struct history *h);
void history_free(struct history *h);

#endif
