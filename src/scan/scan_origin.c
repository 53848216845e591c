/* SPDX-License-Identifier: MIT */
#include "scan/scan_origin.h"

#include <stdlib.h>

#include "base/heap.h"
#include "base/table.h"
#include "leak/gather.h"
#include "ledger/ledger.h"
#include "profile/packed.h"

#define DEPTH 8u   /* frames, from the allocation outwards, that a wider place has at most */
#define BATCH 8192u
#define COOKIE_MOST 128u /* alignments beyond this are of pages, not of objects */

/* ---- which is which ---- */

static bool comes_before(const struct profile_block *a, const struct search_block *b)
{
        return a->address < b->address || (a->address == b->address && a->size > b->size);
}

/* Both lists are sorted alike; what is in one only is passed over. */
static void match(struct scan_origin *o, const struct scan_origin_input *in,
                  const struct profile *p)
{
        struct packed_walk w;
        bool more;

        packed_open(&w, p);
        more = packed_next(&w);
        for (uint64_t i = 0; i < in->count; i++) {
                const struct search_block *b = &in->blocks[i];

                while (more && comes_before(w.block, b))
                        more = packed_next(&w);
                if (more && w.block->address == b->address && w.block->size == b->size &&
                    w.block->birth_ms < in->moment_ms && !(b->flags & SEARCH_BLOCK_PASSAGE)) {
                        o->places[i] = w.block->site;
                        o->block_of[i] = (uint32_t)w.index + 1;
                        more = packed_next(&w);
                }
        }
        packed_close(&w);
}

void scan_origin_take(struct scan_origin *o, struct scan_entries *e, const struct profile *p,
                      uint32_t moment_ms)
{
        if (!e->listed || e->listed != p->block_count || e->newest_ms >= moment_ms)
                return;
        o->places = e->places;
        e->places = NULL;
}

void scan_origin_number(struct scan_origin *o, uint64_t count)
{
        uint32_t listed = 0;

        if (!o->places)
                return;
        o->block_of = heap_grow(NULL, count, sizeof *o->block_of);
        for (uint64_t i = 0; i < count; i++)
                o->block_of[i] = o->places[i] ? ++listed : 0;
}

/* ---- places ---- */

/* Innermost frames that stacks have in common, as a tree: a place is one frame more than the
 * wider place it hangs on. */
struct places {
        struct scan_origin *o;
        uint64_t *pcs; /* by place */
        struct table table;
};

static uint32_t place_below(struct places *t, uint32_t wider, uint64_t pc)
{
        uint32_t place = TABLE_NUMBER(&t->table, table_hash(pc, wider), n,
                                      t->o->wider[n] == wider && t->pcs[n] == pc);

        if (place == t->o->place_count) {
                t->o->wider[place] = wider;
                t->pcs[place] = pc;
                t->o->place_count++;
        }
        return place;
}

static bool has_place(const struct profile *p, uint32_t site)
{
        return p->sites[site].live_blocks && p->sites[site].node < p->node_count;
}

/* From the innermost frame outwards.  Node 0 is no frame. */
static uint32_t place_of_stack(struct places *t, const struct profile *p, uint32_t node)
{
        uint32_t place = 0;

        for (uint32_t depth = 0; node && depth < DEPTH; depth++) {
                place = place_below(t, place, p->nodes[node].pc);
                node = p->nodes[node].parent;
        }
        return place;
}

static void find_places(struct scan_origin *o, const struct profile *p)
{
        struct places t = { .o = o, .table.count = p->site_count };
        uint64_t most = p->site_count;

        for (uint32_t i = 1; i < p->site_count; i++)
                most += has_place(p, i) ? DEPTH : 0;
        t.pcs = heap_zero(most, sizeof *t.pcs);
        o->wider = heap_zero(most, sizeof *o->wider);
        o->place_count = p->site_count;
        for (uint32_t i = 1; i < p->site_count; i++)
                if (has_place(p, i)) /* without stacks all blocks are of one wide place */
                        o->wider[i] = profile_is_walked(p) || profile_is_older(p, i)
                                              ? place_below(&t, 0, 1)
                                              : place_of_stack(&t, p, p->sites[i].node);
        table_free(&t.table);
        free(t.pcs);
}

void scan_origin_find(struct scan_origin *o, const struct scan_origin_input *in,
                      const struct profile *p)
{
        if (!o->places) {
                o->block_of = heap_zero(in->count, sizeof *o->block_of);
                o->places = heap_zero(in->count, sizeof *o->places);
                match(o, in, p);
        }
        find_places(o, p);
}

void scan_origin_free(struct scan_origin *o)
{
        free(o->block_of);
        free(o->places);
        free(o->wider);
        *o = (struct scan_origin){ 0 };
}

/* ---- arrays of no elements ---- */

/* The count is as large as the alignment of the elements, a word or more, and in the last word of
 * it. */
static bool may_be_cookie(const struct scan_origin *o, const struct scan_origin_input *in,
                          const struct profile *p, uint64_t i)
{
        const struct search_block *b = &in->blocks[i];
        uint64_t size = b->size;

        return size >= search_width(in->memory.narrow) && size <= COOKIE_MOST &&
               !(size & (size - 1)) && b->address % size == 0 &&
               o->places[i] && p->sites[o->places[i]].kind == LEDGER_KIND_NEW_ARRAY &&
               (i + 1 == in->count || in->blocks[i + 1].address > b->address + size);
}

static void mark_zeros(const struct scan_origin_input *in, const uint64_t *numbers, size_t count)
{
        uint64_t addresses[BATCH] = { 0 }, words[BATCH];

        for (size_t i = 0; i < count; i++)
                addresses[i] = in->blocks[numbers[i]].address + in->blocks[numbers[i]].size -
                               search_width(in->memory.narrow);
        gather_words(&in->memory, addresses, words, count);
        for (size_t i = 0; i < count; i++)
                if (!words[i])
                        in->blocks[numbers[i]].flags |= SEARCH_BLOCK_NO_ELEMENTS;
}

static bool has_arrays(const struct profile *p)
{
        bool found = false;

        for (uint32_t i = 0; i < p->site_count && !found; i++)
                found = p->sites[i].kind == LEDGER_KIND_NEW_ARRAY && p->sites[i].live_blocks;
        return found;
}

void scan_origin_mark_arrays(const struct scan_origin *o, const struct scan_origin_input *in,
                             const struct profile *p)
{
        uint64_t numbers[BATCH];
        size_t count = 0;

        if (!has_arrays(p))
                return;
        for (uint64_t i = 0; i < in->count; i++) {
                if (!may_be_cookie(o, in, p, i))
                        continue;
                numbers[count++] = i;
                if (count == BATCH) {
                        mark_zeros(in, numbers, count);
                        count = 0;
                }
        }
        mark_zeros(in, numbers, count);
}
