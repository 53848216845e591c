/* SPDX-License-Identifier: MIT */
#include "profile/dense.h"

#include <stdlib.h>

#include "base/find.h"
#include "base/heap.h"
#include "base/order.h"
#include "profile/packed.h"

void dense_open(struct dense *d, const struct profile *p)
{
        *d = (struct dense){ .p = p };
}

void dense_rest(struct dense *d)
{
        free(d->sizes);
        free(d->sites);
        free(d->classes);
        free(d->large);
        d->sizes = d->sites = NULL;
        d->classes = NULL;
        d->large = NULL;
        d->large_count = 0;
}

void dense_close(struct dense *d)
{
        dense_rest(d);
        free(d->known);
        if (d->blocks)
                packed_random_free(d->blocks);
        if (d->verdicts)
                packed_random_free(d->verdicts);
        *d = (struct dense){ 0 };
}

/* ---- columns ---- */

void dense_make_sizes(struct dense *d)
{
        struct packed_walk w;

        d->sizes = heap_zero(d->p->block_count, sizeof *d->sizes);
        packed_open(&w, d->p);
        while (packed_next(&w)) {
                if (w.block->size < DENSE_LARGE) {
                        d->sizes[w.index] = (uint32_t)w.block->size;
                        continue;
                }
                d->sizes[w.index] = DENSE_LARGE;
                d->large = heap_next(d->large, d->large_count, sizeof *d->large);
                d->large[d->large_count++] = (struct dense_large){ (uint32_t)w.index,
                                                                   w.block->size };
        }
        packed_close(&w);
}

uint64_t dense_large_size(const struct dense *d, uint32_t block)
{
        uint64_t at = FIND_FIRST(d->large_count, i, d->large[i].block < block);

        return at < d->large_count ? d->large[at].size : 0;
}

void dense_make_sites(struct dense *d)
{
        struct packed_walk w;

        d->sites = heap_zero(d->p->block_count, sizeof *d->sites);
        packed_open(&w, d->p);
        while (packed_next(&w))
                d->sites[w.index] = w.block->site;
        packed_close(&w);
}

static uint8_t class_of(const struct profile_verdict *v)
{
        return (uint8_t)(v->leak | (v->flags & 7) << DENSE_FLAGS | (v->vtable ? DENSE_VTABLE : 0));
}

void dense_make_classes(struct dense *d)
{
        struct packed_walk w;

        d->classes = heap_zero(d->p->block_count, sizeof *d->classes);
        packed_open(&w, d->p);
        while (packed_next(&w) && w.verdict)
                d->classes[w.index] = class_of(w.verdict);
        packed_close(&w);
}

/* ---- whole ---- */

void dense_expect(struct dense *d, uint32_t *numbers, uint64_t count)
{
        struct packed_walk w;
        uint64_t next = 0;

        if (d->p->blocks || !count)
                return;
        qsort(numbers, count, sizeof *numbers, order_u32);
        free(d->known);
        d->known = heap_zero(count, sizeof *d->known);
        d->known_count = 0;
        packed_open(&w, d->p);
        while (next < count && packed_next(&w)) {
                if (w.index != numbers[next])
                        continue;
                d->known[d->known_count++] = (struct dense_known){
                        .number = numbers[next], .block = *w.block,
                        .verdict = w.verdict ? *w.verdict : (struct profile_verdict){ 0 }
                };
                while (next < count && numbers[next] == w.index)
                        next++;
        }
        packed_close(&w);
}

static const struct dense_known *known(const struct dense *d, uint32_t block)
{
        uint64_t at = FIND_FIRST(d->known_count, i, d->known[i].number < block);

        return at < d->known_count && d->known[at].number == block ? &d->known[at] : NULL;
}

struct profile_block dense_block(struct dense *d, uint32_t block)
{
        const struct dense_known *before = known(d, block);
        const struct profile_block *found;

        if (d->p->blocks)
                return d->p->blocks[block];
        if (before)
                return before->block;
        if (!d->blocks)
                d->blocks = packed_random(d->p, PACKED_BLOCKS);
        found = d->blocks ? packed_at(d->blocks, block) : NULL;
        return found ? *found : (struct profile_block){ 0 };
}

struct profile_verdict dense_verdict(struct dense *d, uint32_t block)
{
        const struct dense_known *before = known(d, block);
        const struct profile_verdict *found;

        if (block >= d->p->verdict_count)
                return (struct profile_verdict){ 0 };
        if (d->p->verdicts)
                return d->p->verdicts[block];
        if (before)
                return before->verdict;
        if (!d->verdicts)
                d->verdicts = packed_random(d->p, PACKED_VERDICTS);
        found = d->verdicts ? packed_at(d->verdicts, block) : NULL;
        return found ? *found : (struct profile_verdict){ 0 };
}

uint64_t dense_vtable(struct dense *d, uint32_t block)
{
        return dense_class(d, block) & DENSE_VTABLE ? dense_verdict(d, block).vtable : 0;
}

/* Of two around it the later begins nearer: the innermost. */
bool dense_around(const struct profile *p, uint64_t address, uint32_t *number,
                  struct profile_block *block)
{
        const struct profile_block *at = profile_block_around(p, address);
        bool found = at != NULL;
        struct packed_walk w;

        if (found) {
                *number = (uint32_t)(at - p->blocks);
                *block = *at;
        }
        if (p->blocks)
                return found;
        packed_open(&w, p);
        while (packed_next(&w) && w.block->address <= address)
                if (address - w.block->address < (w.block->size ? w.block->size : 1)) {
                        *number = (uint32_t)w.index;
                        *block = *w.block;
                        found = true;
                }
        packed_close(&w);
        return found;
}
