/* SPDX-License-Identifier: MIT */
/*
 * headers.c -- places that keep a header in front of what they hand out.
 *
 * A library may put a header in front and give its callers the address behind it (counted strings
 * and objects, talloc, Rust's Arc::into_raw).  No block tells this by itself: one pointer to its
 * inside may as well be what is left of a moved one.  All blocks of a place together do.  Moved
 * pointers are anywhere; those behind headers are at the same offset:
 *
 *     place A:  +16 +16 +16 +16 +16 +16 +16 +16 +16 +40      headers of 16 bytes; the block at +40
 *                                                            is possibly lost as before
 *     place B:  +0 +0 +16 +0 +32 +0 +0 +7 +0 +0              none
 *
 * Of the blocks that are held at all, 90 % must be held at offsets that 8 blocks or more have each,
 * five such offsets at most.  What is before the pointer must look like a header (fronts.c): the
 * last byte is small, as in counts, sizes, flags and addresses, not one of text or of a number with
 * a fraction; a header of one byte must be the length of what follows (sds has it in the upper five
 * bits).  Blocks that nothing holds count neither way: they are lost in any case.
 *
 * A place with too few blocks, or a place with headers of which a size is too rare, asks the wider
 * place: the same innermost frames, one less each time.  The first that has enough blocks decides.
 * A place that has enough blocks and no headers is not overruled.
 */
#include "leak/headers.h"

#include <stdlib.h>

#include "base/heap.h"
#include "base/table.h"
#include "leak/huge_array.h"

/* How many blocks of a place are held at an offset. */
struct tally_entry {
        uint64_t key; /* place << 8 | offset */
        uint64_t count;
};

struct tally {
        struct tally_entry *at;
        uint64_t used;
        struct table numbers;
};

/* What is known of a place. */
struct place {
        uint64_t own;        /* blocks that are held at all, of this very place ... */
        uint64_t held;       /* ... and with those of narrower ones */
        uint64_t at_offsets; /* of these, blocks held at its offsets */
        uint32_t offsets;    /* how many offsets have blocks enough */
};

struct headers {
        const struct search_input *in;
        const struct search_graph *g;
        uint8_t *of_pointer; /* by number: the offset, if there may be a header in front; else 0 */
        uint8_t *of_block;   /* the least offset of those that are held; 0 none is */
        struct place *places;
        struct tally tally;
};

static void tally_add(struct tally *t, uint64_t key, uint64_t count)
{
        uint32_t number = TABLE_NUMBER(&t->numbers, table_hash(key, 0), n, t->at[n].key == key);

        if (number == t->used) {
                t->at = heap_next(t->at, t->used, sizeof *t->at);
                t->at[t->used++] = (struct tally_entry){ key, 0 };
        }
        t->at[number].count += count;
}

static void tally_free(struct tally *t)
{
        free(t->at);
        table_free(&t->numbers);
}

struct headers *headers_new(const struct search_input *in, const struct search_graph *g,
                            uint64_t pointers)
{
        struct headers *h = heap_zero(1, sizeof *h);

        h->in = in;
        h->g = g;
        h->of_pointer = heap_zero(pointers, sizeof *h->of_pointer);
        h->of_block = huge_array_zero(g->block_count, sizeof *h->of_block);
        h->places = heap_zero(in->place_count, sizeof *h->places);
        return h;
}

void headers_free(struct headers *h)
{
        free(h->of_pointer);
        free(h->of_block);
        free(h->places);
        tally_free(&h->tally);
        free(h);
}

static uint32_t headers_place(const struct headers *h, uint32_t block)
{
        return h->in->places && h->in->places[block] < h->in->place_count ? h->in->places[block]
                                                                          : 0;
}

void headers_fetch(const struct headers *h, uint32_t block)
{
        __builtin_prefetch(&h->of_block[block]);
        if (h->in->places)
                __builtin_prefetch(&h->in->places[block]);
}

void headers_add(struct headers *h, uint64_t number, const struct headers_pointer *p)
{
        uint8_t *least = &h->of_block[p->block], before;

        if (!p->offset || !headers_place(h, p->block))
                return;
        h->of_pointer[number] = p->offset;
        before = p->held ? __atomic_load_n(least, __ATOMIC_RELAXED) : 1;
        while ((!before || p->offset < before) &&
               !__atomic_compare_exchange_n(least, &before, p->offset, true, __ATOMIC_RELAXED,
                                            __ATOMIC_RELAXED))
                ;
}

/* Whether blocks enough are held at an offset at all. */
static bool headers_are_possible(const struct headers *h)
{
        uint32_t noted = 0;

        for (uint64_t i = 0; i < h->g->block_count && noted < HEADERS_BLOCKS_LEAST; i++)
                noted += h->of_block[i] != 0;
        return noted >= HEADERS_BLOCKS_LEAST;
}

static void headers_count_blocks(struct headers *h)
{
        for (uint64_t i = 0; i < h->g->block_count; i++) {
                uint32_t place = headers_place(h, (uint32_t)i);

                if (!place || h->g->leak[i] == PROFILE_LEAK_UNKNOWN)
                        continue;
                h->places[place].own++;
                if (h->of_block[i])
                        tally_add(&h->tally, (uint64_t)place << 8 | h->of_block[i], 1);
        }
}

/* Wider places have all blocks of those that they are wider than. */
static void headers_widen(struct headers *h)
{
        const uint32_t *wider = h->in->wider;
        struct tally own = h->tally;

        for (uint32_t i = 1; i < h->in->place_count; i++)
                for (uint32_t k = h->places[i].own ? i : 0; k; k = wider[k])
                        h->places[k].held += h->places[i].own;
        h->tally = (struct tally){ 0 };
        for (uint64_t i = 0; i < own.used; i++)
                for (uint32_t k = (uint32_t)(own.at[i].key >> 8); k; k = wider[k])
                        tally_add(&h->tally, (uint64_t)k << 8 | (own.at[i].key & 0xff),
                                  own.at[i].count);
        tally_free(&own);
}

static bool headers_has_enough(const struct place *p)
{
        return p->held >= HEADERS_BLOCKS_LEAST;
}

/* Of a place that has enough blocks. */
static bool headers_has_place(const struct place *p)
{
        return p->offsets <= HEADERS_OFFSETS_MOST &&
               p->at_offsets * 100 >= p->held * HEADERS_SHARE_PERCENT;
}

static bool headers_is_frequent(const struct headers *h, uint32_t place, uint8_t offset)
{
        uint64_t key = (uint64_t)place << 8 | offset;
        const struct tally *t = &h->tally;
        uint32_t number = 0;

        if (t->used)
                number =
                        TABLE_SLOT(&t->numbers, table_hash(key, 0), n, t->at[n].key == key)->number;
        return number && h->tally.at[number - 1].count >= HEADERS_BLOCKS_LEAST;
}

/* Does any wider place have headers of this size? */
static bool headers_is_known(const struct headers *h, uint32_t place, uint8_t offset)
{
        while ((place = h->in->wider[place])) {
                const struct place *p = &h->places[place];

                if (headers_has_enough(p) && headers_has_place(p) &&
                    headers_is_frequent(h, place, offset))
                        return true;
        }
        return false;
}

/* An offset that is rare here, but one of a wider place, speaks for headers, too. */
static void headers_count_rare(struct headers *h)
{
        uint64_t *rare = heap_zero(h->in->place_count, sizeof *rare);

        for (uint64_t i = 0; i < h->tally.used; i++) {
                const struct tally_entry *e = &h->tally.at[i];
                uint32_t place = (uint32_t)(e->key >> 8);

                if (place && e->count < HEADERS_BLOCKS_LEAST &&
                    headers_is_known(h, place, (uint8_t)e->key))
                        rare[place] += e->count;
        }
        for (uint32_t i = 0; i < h->in->place_count; i++)
                h->places[i].at_offsets += rare[i];
        free(rare);
}

bool headers_decide(struct headers *h)
{
        bool any = false;

        if (!headers_are_possible(h))
                return false;
        headers_count_blocks(h);
        headers_widen(h);
        for (uint64_t i = 0; i < h->tally.used; i++) {
                const struct tally_entry *e = &h->tally.at[i];

                if (e->count >= HEADERS_BLOCKS_LEAST) {
                        h->places[e->key >> 8].at_offsets += e->count;
                        h->places[e->key >> 8].offsets++;
                        any = true;
                }
        }
        if (any)
                headers_count_rare(h);
        return any;
}

/* The first place that has enough blocks decides; what it has too few blocks to know, the next
 * may. */
bool headers_has(const struct headers *h, uint64_t number, uint32_t block)
{
        uint8_t offset = h->of_pointer[number];

        for (uint32_t place = offset ? headers_place(h, block) : 0; place;
             place = h->in->wider[place]) {
                const struct place *p = &h->places[place];

                if (!headers_has_enough(p))
                        continue;
                if (!headers_has_place(p))
                        return false;
                if (headers_is_frequent(h, place, offset))
                        return true;
        }
        return false;
}
