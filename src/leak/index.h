/* SPDX-License-Identifier: MIT */
/*
 * index.h -- from an address to the block it lies in.
 *
 * Keeps:  a bit for each granule (8 or 16 bytes) in which a block starts, and with each 64 of
 *         them the number of bits before: the bits up to an address, counted, are the number of
 *         the last block that starts at or before it.  Only stretches of memory in which blocks
 *         start have such cells, so a heap near the program and another near the libraries cost
 *         nothing for what is between.
 * Cost:   one cache miss for a pointer to the start of a block, two for an interior one; 16
 *         MB for each GiB of heap.
 */
#ifndef SEEP_LEAK_INDEX_H
#define SEEP_LEAK_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "leak/search.h"

#define INDEX_NONE UINT32_MAX

struct index_cell {
        uint64_t bits; /* by granule: a block starts in it */
        uint32_t rank; /* bits of all cells before */
        uint32_t reserved;
};

/* The cells of one stretch of memory, from the first block that starts in it to the last. */
struct index_stretch {
        struct index_cell *cells;
        uint64_t start;         /* address of the first cell's first granule */
        uint64_t cell_count;    /* 0: blocks reach into it, none starts in it */
        uint32_t before, after; /* rank below the first cell, above the last */
};

struct index {
        const struct search_block *blocks;
        uint32_t count;
        uint32_t *parents;  /* NULL: no block lies in another one.  By block: 1 + the
                             * innermost one around it; 0 none */
        uint64_t low, high; /* no block outside of [low, high) */
        uint64_t base;      /* LOW, at the start of a stretch */
        unsigned shift;     /* log2 of the size of a stretch */
        unsigned granule;   /* log2 of that of a granule */
        uint64_t bytes;     /* in all blocks */
        bool exact;         /* blocks start at multiples of 8: at granules */
        bool nested;        /* some lie in others */
        uint32_t flags;     /* SEARCH_BLOCK_* that any of them has */
        uint32_t *directory; /* by stretch: index into stretches; 0 none */
        struct index_stretch *stretches;
        uint32_t stretch_count, stretch_room;
        struct index_cell *cells; /* of all stretches */
        uint64_t cell_count;
        uint32_t rank; /* bits in them */
        uint32_t *last; /* by rank: the last block that starts in the granule.  NULL:
                         * all start in different ones */
};

void index_make(struct index *x, const struct search_input *in);
void index_free(struct index *x);

/* Where B ends as the target of pointers: a block of no bytes is hit by its start, an array of no
 * elements by its end, too. */
static inline uint64_t index_end(const struct search_block *b)
{
        uint64_t end = b->address + (b->size ? b->size : 1) +
                       (b->flags & SEARCH_BLOCK_NO_ELEMENTS ? 1 : 0);

        return end > b->address ? end : UINT64_MAX;
}

/* May WORD point to a block?  For all of memory, so it only compares. */
static inline bool index_likely(const struct index *x, uint64_t word)
{
        return word - x->low < x->high - x->low;
}

/* A look-up in three steps, so that many can be under way: each step touches what the one before
 * asked the processor to fetch. */
struct index_probe {
        uint64_t word;
        const struct index_stretch *stretch; /* NULL: no block */
        uint32_t block;                      /* after step 2: the last that starts in the
                                              * granule or before; INDEX_NONE */
        bool start;                          /* WORD is the start of the block */
};

static inline void index_probe_begin(const struct index *x, struct index_probe *p, uint64_t word)
{
        uint32_t number = x->directory[(word - x->base) >> x->shift];

        p->word = word;
        p->stretch = number ? &x->stretches[number] : NULL;
        if (number)
                __builtin_prefetch(
                        &p->stretch->cells[(word - p->stretch->start) >> (x->granule + 6)]);
}

/* Without the processor's own instruction, which not all have. */
static inline unsigned index_bits(uint64_t n)
{
        n -= n >> 1 & 0x5555555555555555u;
        n = (n & 0x3333333333333333u) + (n >> 2 & 0x3333333333333333u);
        n = (n + (n >> 4)) & 0x0f0f0f0f0f0f0f0fu;
        return (unsigned)(n * 0x0101010101010101u >> 56);
}

static inline void index_probe_rank(const struct index *x, struct index_probe *p)
{
        const struct index_stretch *s = p->stretch;
        uint64_t granule = (p->word - s->start) >> x->granule, bit = granule % 64;
        uint32_t rank;

        p->start = false;
        if (p->word < s->start)
                rank = s->before;
        else if (granule / 64 >= s->cell_count)
                rank = s->after;
        else {
                const struct index_cell *cell = &s->cells[granule / 64];

                rank = cell->rank + index_bits(cell->bits & (UINT64_MAX >> (63 - bit)));
                p->start = x->exact && (cell->bits >> bit & 1) &&
                           !(p->word & ((1u << x->granule) - 1));
        }
        p->block = !rank ? INDEX_NONE : x->last ? x->last[rank - 1] : rank - 1;
        if (rank && !p->start)
                __builtin_prefetch(&x->blocks[p->block]);
}

/* Now P->block is the innermost block around the word, or INDEX_NONE. */
static inline void index_probe_end(const struct index *x, struct index_probe *p)
{
        if (p->start || p->block == INDEX_NONE)
                return;
        while (x->blocks[p->block].address > p->word && p->block)
                p->block--;
        while (p->block != INDEX_NONE && p->word >= index_end(&x->blocks[p->block]))
                p->block = x->parents ? x->parents[p->block] - 1 : INDEX_NONE;
        if (p->block == INDEX_NONE || x->blocks[p->block].address > p->word)
                p->block = INDEX_NONE;
        else
                p->start = x->blocks[p->block].address == p->word;
}

#endif
