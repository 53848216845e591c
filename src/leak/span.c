/* SPDX-License-Identifier: MIT */
/* span.c -- whose words are where. */
#include "base/find.h"
#include "leak/span.h"

/* Where its bytes end; index_end() is about pointers to it. */
static uint64_t span_end(const struct search_block *b)
{
        return b->address + b->size >= b->address ? b->address + b->size : UINT64_MAX;
}

/* From the place to the next block or to the end of the open one, whatever comes first. */
static bool span_next_of_blocks(struct span_supply *s, struct span *span)
{
        const struct index *x = s->index;

        for (;;) {
                const struct search_block *next = s->block < s->last ? &x->blocks[s->block] : NULL;
                const struct search_block *open = s->owner ? &x->blocks[s->owner - 1] : NULL;

                if (next && !next->size) { /* no words, and it cuts none */
                        s->block++;
                        continue;
                }
                if (!next && !open)
                        return false;
                if (open)
                        *span = (struct span){ .start = s->place, .end = span_end(open),
                                               .base = open->address, .owner = s->owner - 1 };
                if (next && (!open || next->address < span_end(open))) {
                        span->end = next->address;
                        s->place = next->address > s->place ? next->address : s->place;
                        s->owner = ++s->block;
                } else {
                        s->place = span_end(open) > s->place ? span_end(open) : s->place;
                        s->owner = x->parents ? x->parents[s->owner - 1] : 0;
                }
                if (open && span->start < span->end)
                        return true;
        }
}

struct span_supply span_blocks(const struct index *x, uint32_t first, uint32_t end)
{
        return (struct span_supply){ .index = x, .next = span_next_of_blocks, .block = first,
                                     .last = end };
}

/* From the place to the next block; then the place is behind that. */
static bool span_next_of_root(struct span_supply *s, struct span *span)
{
        const struct index *x = s->index;

        while (s->place < s->end) {
                uint64_t start = s->place, end = s->end;

                while (s->block < x->count &&
                       (!x->blocks[s->block].size || span_end(&x->blocks[s->block]) <= start))
                        s->block++;
                s->place = s->end;
                if (s->block < x->count && x->blocks[s->block].address < end) {
                        end = x->blocks[s->block].address;
                        s->place = span_end(&x->blocks[s->block]);
                }
                if (start < end) {
                        *span = (struct span){ .start = start, .end = end, .owner = s->owner };
                        return true;
                }
        }
        return false;
}

/* The first block that may reach beyond START. */
static uint32_t span_first_block(const struct index *x, uint64_t start)
{
        uint32_t low = (uint32_t)FIND_FIRST(x->count, i, x->blocks[i].address <= start);

        low -= low != 0;
        while (x->parents && low < x->count && x->parents[low])
                low = x->parents[low] - 1;
        return low;
}

struct span_supply span_root(const struct index *x, const struct search_root *root, uint32_t number)
{
        return (struct span_supply){
                .index = x,
                .next = span_next_of_root,
                .place = root->start,
                .end = root->end,
                .block = span_first_block(x, root->start),
                .owner = number,
        };
}
