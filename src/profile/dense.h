/* SPDX-License-Identifier: MIT */
/*
 * dense.h -- blocks by number, also where there are too many for an array.
 *
 * Room:   outside.  For views that look here and there: paths, owners, retained sizes.
 * Keeps:  what is asked of very many blocks in any order (size, call stack, class) is in columns of
 *         4, 4 and 1 bytes for each, made when the first is asked for.  The rest of a block is
 *         unpacked when it is needed, with its neighbours (profile/packed.h).
 * Cost:   20 million blocks: half a second for a column; 2 ms for a block that is not near the last
 *         one.
 */
#ifndef SEEP_PROFILE_DENSE_H
#define SEEP_PROFILE_DENSE_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/model.h"

struct dense_large {
        uint32_t block;
        uint64_t size;
};

/* A block that was asked for before it is looked at. */
struct dense_known {
        uint32_t number;
        struct profile_block block;
        struct profile_verdict verdict;
};

struct packed_reader;

struct dense {
        const struct profile *p;
        uint32_t *sizes, *sites; /* by block; NULL: not made */
        uint8_t *classes;
        struct dense_large *large; /* blocks of 4 GiB and more, in their order */
        uint64_t large_count;
        struct dense_known *known; /* in the order of their numbers */
        uint64_t known_count;
        struct packed_reader *blocks, *verdicts;
};

#define DENSE_LARGE UINT32_MAX

/* In CLASSES: enum profile_leak, then PROFILE_VERDICT_*, then whether there is a vtable. */
#define DENSE_FLAGS 3u
#define DENSE_VTABLE 0x80u

/* P must outlive it. */
void dense_open(struct dense *d, const struct profile *p);
void dense_close(struct dense *d);

/* Columns are given back until somebody asks again. */
void dense_rest(struct dense *d);

/* ---- of any block, at once ---- */

void dense_make_sizes(struct dense *d);
void dense_make_sites(struct dense *d);
void dense_make_classes(struct dense *d);
uint64_t dense_large_size(const struct dense *d, uint32_t block);

static inline uint64_t dense_size(struct dense *d, uint32_t block)
{
        if (d->p->blocks)
                return d->p->blocks[block].size;
        if (!d->sizes)
                dense_make_sizes(d);
        return d->sizes[block] == DENSE_LARGE ? dense_large_size(d, block) : d->sizes[block];
}

static inline uint32_t dense_site(struct dense *d, uint32_t block)
{
        if (d->p->blocks)
                return d->p->blocks[block].site;
        if (!d->sites)
                dense_make_sites(d);
        return d->sites[block];
}

/* Nothing is known of blocks that have no verdict. */
static inline uint8_t dense_class(struct dense *d, uint32_t block)
{
        if (!d->classes)
                dense_make_classes(d);
        return d->classes[block];
}

static inline uint32_t dense_leak(struct dense *d, uint32_t block)
{
        return dense_class(d, block) & ((1u << DENSE_FLAGS) - 1);
}

static inline bool dense_ignored(struct dense *d, uint32_t block)
{
        return dense_class(d, block) & PROFILE_VERDICT_IGNORED << DENSE_FLAGS;
}

/* ---- whole ---- */

/* These will be asked for: COUNT numbers, in any order, which it sorts. */
void dense_expect(struct dense *d, uint32_t *numbers, uint64_t count);

struct profile_block dense_block(struct dense *d, uint32_t block);
/* All 0: there is none. */
struct profile_verdict dense_verdict(struct dense *d, uint32_t block);
uint64_t dense_vtable(struct dense *d, uint32_t block);

/* The live block that ADDRESS is in, as profile_block_around() finds it; false: none. */
bool dense_around(const struct profile *p, uint64_t address, uint32_t *number,
                  struct profile_block *block);

#endif
