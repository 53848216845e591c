/* SPDX-License-Identifier: MIT */
/*
 * past.h -- what was live at earlier moments, by things that keep their number from look to look.
 *
 * Keeps:  a key (of a call stack, a thread, a size) has one number for good.  Moments are kept for PAST_SPAN_MS, and the last one
 *         before that.
 */
#ifndef SEEP_TOP_PAST_H
#define SEEP_TOP_PAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/model.h"

#define PAST_SPAN_MS 60000u
#define PAST_STEP_MS 2000u /* moments older than the last two are this far apart */
#define PAST_UNKNOWN UINT64_MAX

struct past_numbers {
        uint64_t live_bytes, live_blocks, allocs;
        uint64_t birth_ms; /* of the live blocks, on average; PAST_UNKNOWN */
};

/* Zeroed: before everything. */
struct past_moment {
        uint64_t ms;
        struct profile_slice sum; /* of the whole heap */
        struct past_numbers *all; /* by number; what is not there did not exist yet */
        uint32_t count;
        bool blocks; /* threads and sizes are known, too */
};

struct past_key {
        uint64_t key;
        uint32_t number; /* from 1; 0: free place */
};

struct past {
        struct past_key *keys; /* open addressing */
        size_t key_room;
        uint32_t key_count;
        struct past_moment *moments; /* oldest first */
        uint32_t moment_count;
};

/* The number of KEY: an index into the numbers of moments. */
uint32_t past_number(struct past *h, uint64_t key);

/* A further part of a key. */
uint64_t past_key(uint64_t key, uint64_t part);
uint64_t past_key_text(uint64_t key, const char *text);

/* The place for NUMBER in M, which grows. */
struct past_numbers *past_place(struct past_moment *m, uint32_t number);

/* What is known of NUMBER at M; nothing where M is NULL. */
struct past_numbers past_of(const struct past_moment *m, uint32_t number);

/* M is moved, and later than those that are there. */
void past_add(struct past *h, struct past_moment *m);

/* The newest moment that is not later than MS, else the oldest; NULL: there is none.  BLOCKS: of those with blocks. */
const struct past_moment *past_at(const struct past *h, uint64_t ms, bool blocks);

/* The newest, and the one before it; NULL: there is none. */
const struct past_moment *past_newest(const struct past *h);
const struct past_moment *past_previous(const struct past *h, bool blocks);

struct past_moment past_copy(const struct past_moment *m);
void past_moment_free(struct past_moment *m);

/* Forget the moments; numbers stay. */
void past_clear(struct past *h);
void past_free(struct past *h);

#endif
