/* SPDX-License-Identifier: MIT */
/*
 * fronts.h -- the first bytes of blocks, to see what is in front of the place that pointers lead to
 *
 * Room:   leak/ only, used by idioms.c.
 * Keeps:  first all questions are noted, then memory is read once from low to high, then they are
 *         answered.
 * Cost:   17 bytes of memory for a block with a question, nothing for stretches of blocks without.
 */
#ifndef SEEP_LEAK_FRONTS_H
#define SEEP_LEAK_FRONTS_H

#include "leak/search.h"

struct front {
        /* Bit N - 1: asked about offset N; after reading: a header may be in front of it. */
        uint64_t offsets[SEARCH_NEAR / 64];
};

struct fronts {
        const struct search_input *in;
        struct front *at;    /* by block */
        uint8_t *known; /* by block: FRONTS_* of fronts.c */
};

struct fronts *fronts_new(const struct search_input *in);
void fronts_free(struct fronts *f);

/* A pointer leads to OFFSET of BLOCK, 1 to SEARCH_NEAR and inside of it.  Several threads may ask
 * at once. */
static inline void fronts_ask(struct fronts *f, uint32_t block, uint32_t offset)
{
        uint64_t *bits = &f->at[block].offsets[(offset - 1) / 64],
                 bit = UINT64_C(1) << (offset - 1) % 64;

        if (!(__atomic_load_n(bits, __ATOMIC_RELAXED) & bit))
                __atomic_fetch_or(bits, bit, __ATOMIC_RELAXED);
}

void fronts_read(struct fronts *f);

/* What was asked, after reading: whether what is in front of OFFSET looks like any header ... */
static inline bool fronts_is_header(const struct fronts *f, uint32_t block, uint32_t offset)
{
        return f->at[block].offsets[(offset - 1) / 64] >> (offset - 1) % 64 & 1;
}

/* ... and whether it is one that a well-known library or compiler makes. */
bool fronts_is_known(const struct fronts *f, uint32_t block, uint32_t offset);

#endif
