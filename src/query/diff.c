/* SPDX-License-Identifier: MIT */
#include "query/diff.h"

#include <stdlib.h>
#include <string.h>

#include "base/arrange.h"
#include "base/heap.h"
#include "base/order.h"
#include "query/merge.h"

int64_t diff_sum(int64_t x, int64_t y)
{
        return (int64_t)((uint64_t)x + (uint64_t)y);
}

static uint64_t magnitude(int64_t value)
{
        return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

int diff_order(int64_t x, int64_t y)
{
        return ORDER(y, x);
}

int diff_order_abs(int64_t x, int64_t y)
{
        return ORDER(magnitude(y), magnitude(x)) ?: diff_order(x, y);
}

const char *diff_change_word(enum diff_change change)
{
        static const char *const words[] = {
#define DIFF_CHANGE_WORD(id, word) word,
                DIFF_CHANGES(DIFF_CHANGE_WORD)
#undef DIFF_CHANGE_WORD
        };

        return words[change];
}

enum diff_change diff_change_of(const struct diff *d, const struct diff_row *row)
{
        int64_t old = select_weight(d->sel[MATCH_OLD], row->sums[MATCH_OLD]->bytes,
                                    row->sums[MATCH_OLD]->count);
        int64_t new = select_weight(d->sel[MATCH_NEW], row->sums[MATCH_NEW]->bytes,
                                    row->sums[MATCH_NEW]->count);

        if (old == new)
                return DIFF_SAME;
        if (!old || !new)
                return old ? DIFF_GONE : DIFF_NEW;
        return new > old ? DIFF_GROWN : DIFF_SHRUNK;
}

static uint64_t number_of(const struct select_row *row, enum sort_key key)
{
        switch (key) {
        case SORT_LIVE_BLOCKS:
                return row->live_blocks;
        case SORT_PEAK_BYTES:
                return row->peak_bytes;
        case SORT_ALLOC_BYTES:
                return row->alloc_bytes;
        case SORT_ALLOCS:
                return row->allocs;
        default:
                return row->live_bytes;
        }
}

static struct select_row difference(const struct select_row *new, const struct select_row *old)
{
        return (struct select_row){
                .bytes = new->bytes - old->bytes,
                .count = new->count - old->count,
                .allocs = new->allocs - old->allocs,
                .frees = new->frees - old->frees,
                .alloc_bytes = new->alloc_bytes - old->alloc_bytes,
                .live_blocks = new->live_blocks - old->live_blocks,
                .live_bytes = new->live_bytes - old->live_bytes,
                .peak_blocks = new->peak_blocks - old->peak_blocks,
                .peak_bytes = new->peak_bytes - old->peak_bytes,
                .temporary = new->temporary - old->temporary,
                .lifetime_ms = new->lifetime_ms - old->lifetime_ms,
        };
}

/* The peak is one of the whole run: beside another moment than the end it is no difference. */
static struct select_known known_of(const struct selection *const sel[MATCH_SIDES])
{
        struct select_known old = select_known(sel[MATCH_OLD]), new = select_known(sel[MATCH_NEW]);

        return (struct select_known){ .calls = old.calls && new.calls,
                                      .peak = old.lifetimes && new.lifetimes,
                                      .temporary = old.temporary && new.temporary,
                                      .lifetimes = old.lifetimes && new.lifetimes,
                                      .end = old.end && new.end };
}

struct select_row diff_numbers(const struct diff *d, const struct diff_row *row)
{
        struct select_row change = difference(row->sums[MATCH_NEW], row->sums[MATCH_OLD]);

        /* What one of the two moments does not tell did not change. */
        if (!d->known.peak)
                change.peak_blocks = change.peak_bytes = 0;
        if (!d->known.temporary)
                change.temporary = 0;
        if (!d->known.lifetimes)
                change.lifetime_ms = 0;
        if (!d->known.calls)
                change.allocs = change.frees = change.alloc_bytes = 0;
        return change;
}

void diff_row_leaks(const struct diff *d, const struct diff_row *row,
                    struct leaks_sum sums[PROFILE_LEAK_COUNT])
{
        memset(sums, 0, PROFILE_LEAK_COUNT * sizeof *sums);
        for (uint32_t at = row->leaks; at; at = d->leaks[at - 1].next)
                sums[d->leaks[at - 1].leak] = d->leaks[at - 1].sum;
}

static bool is_nothing(const struct diff *d, const struct diff_row *row, const struct select_row *c)
{
        for (uint32_t at = row->leaks; at; at = d->leaks[at - 1].next)
                if (d->leaks[at - 1].sum.blocks || d->leaks[at - 1].sum.bytes)
                        return false;
        return !c->allocs && !c->frees && !c->alloc_bytes && !c->live_blocks && !c->live_bytes &&
               !c->peak_blocks && !c->peak_bytes && !c->temporary;
}

void diff_leaks(const struct diff *d, struct leaks_sum sums[PROFILE_LEAK_COUNT])
{
        memset(sums, 0, PROFILE_LEAK_COUNT * sizeof *sums);
        for (uint32_t i = 0; i < d->leak_count; i++) {
                sums[d->leaks[i].leak].blocks += d->leaks[i].sum.blocks;
                sums[d->leaks[i].leak].bytes += d->leaks[i].sum.bytes;
        }
}

/* SUM of class LEAK comes to ROW, SIGN 1, or goes, UINT64_MAX. */
static void add_leak(struct diff *d, struct diff_row *row, uint32_t leak,
                     const struct leaks_sum *sum, uint64_t sign)
{
        uint32_t at = row->leaks;

        while (at && d->leaks[at - 1].leak != leak)
                at = d->leaks[at - 1].next;
        if (!at) {
                d->leaks = heap_next(d->leaks, d->leak_count, sizeof *d->leaks);
                d->leaks[d->leak_count++] = (struct diff_leak){ .leak = leak, .next = row->leaks };
                at = row->leaks = d->leak_count;
                row->lost |= leak > PROFILE_LEAK_REACHABLE;
        }
        d->leaks[at - 1].sum.blocks += sign * sum->blocks;
        d->leaks[at - 1].sum.bytes += sign * sum->bytes;
}

/* What leaks changed by.  PLACES: for each side, which row each of its stacks became a part of. */
static void take_leaks(struct diff *d, uint32_t *const places[MATCH_SIDES])
{
        d->searched = true;
        for (int side = 0; side < MATCH_SIDES; side++)
                d->searched &= d->sel[side]->moment == SELECT_OF_RUN &&
                               profile_scanned(d->sel[side]->profile);
        for (int side = 0; d->searched && side < MATCH_SIDES; side++) {
                const struct select_part *parts[] = { &d->sel[side]->heap, &d->sel[side]->mapped };
                const uint32_t *place = places[side];
                struct leaks_sum sums[PROFILE_LEAK_COUNT];
                struct leaks l;

                leaks_make_sums(&l, d->sel[side], d->symbols[side]);
                for (int k = 0; k < 2; k++)
                        for (uint32_t i = 0; i < parts[k]->count; i++, place++) {
                                leaks_of_site(&l, parts[k]->rows[i].site, sums);
                                for (uint32_t leak = 0; leak < PROFILE_LEAK_COUNT; leak++)
                                        if (sums[leak].blocks)
                                                add_leak(d, &d->rows[*place], leak, &sums[leak],
                                                         side == MATCH_NEW ? 1 : UINT64_MAX);
                        }
                leaks_free(&l);
        }
}

/* Rows while they are made: the last one of each stack, and the one before it of the
 * same stack and another kind. */
struct making {
        uint32_t *last; /* by id of the stack: 1 + row */
        uint32_t last_room;
        uint32_t *before; /* by row: 1 + row */
};

static uint32_t *last_of(struct making *g, uint32_t id)
{
        if (id >= g->last_room) {
                uint32_t room = id + id / 2 + 1024;

                g->last = heap_grow(g->last, room, sizeof *g->last);
                memset(g->last + g->last_room, 0, (room - g->last_room) * sizeof *g->last);
                g->last_room = room;
        }
        return &g->last[id];
}

static const struct select_row nothing;

static void forget_sum(struct diff_row *row, enum match_side side)
{
        if (row->own >> side & 1)
                free((void *)(uintptr_t)row->sums[side]);
}

/* The row of the stack ID and KIND. */
static struct diff_row *row_of(struct diff *d, struct making *g, uint32_t id, uint32_t kind)
{
        uint32_t *last = last_of(g, id);

        for (uint32_t at = *last; at; at = g->before[at - 1])
                if (d->rows[at - 1].kind == kind)
                        return &d->rows[at - 1];
        d->rows[d->count] = (struct diff_row){ .id = id, .kind = kind,
                                               .site = UINT32_MAX, .sums = { &nothing, &nothing } };
        g->before[d->count] = *last;
        *last = ++d->count;
        return &d->rows[d->count - 1];
}

/* What TO has of SIDE and ROW: the selection's rows are not ours to change. */
static const struct select_row *sum_up(struct diff_row *to, enum match_side side,
                                       const struct select_row *row)
{
        struct select_row *sum = heap_zero(1, sizeof *sum);

        *sum = *to->sums[side];
        merge_add(sum, row);
        forget_sum(to, side);
        to->own |= (uint8_t)(1u << side);
        return sum;
}

/* Shown is a stack of the new recording where there is one; of several the one with the lowest
 * number. */
static void take_row(struct diff *d, struct making *g, enum match_side side,
                     const struct select_row *row, uint32_t *place)
{
        struct wrapper_frame from = { row->node, row->level };
        struct diff_row *to = row_of(d, g, match_stack(&d->match, side, from), row->kind);

        if (to->shown != side || row->site < to->site) {
                to->shown = side;
                to->site = row->site;
                to->from = from;
        }
        to->sums[side] = to->sums[side] == &nothing ? row : sum_up(to, side, row);
        *place = (uint32_t)(to - d->rows);
}

static void take_side(struct diff *d, struct making *g, enum match_side side, uint32_t *places)
{
        const struct select_part *parts[] = { &d->sel[side]->heap, &d->sel[side]->mapped };

        for (int k = 0; k < 2; k++)
                for (uint32_t i = 0; i < parts[k]->count; i++)
                        take_row(d, g, side, &parts[k]->rows[i], places++);
}

static size_t stacks_of(const struct selection *sel)
{
        return (size_t)sel->heap.count + sel->mapped.count;
}

static void take_sides(struct diff *d)
{
        size_t most = stacks_of(d->sel[MATCH_OLD]) + stacks_of(d->sel[MATCH_NEW]);
        struct making g = { .before = heap_zero(most, sizeof *g.before) };
        uint32_t *places[MATCH_SIDES];

        d->rows = heap_zero(most, sizeof *d->rows); /* of which no more is touched than is used */
        for (int side = 0; side < MATCH_SIDES; side++) {
                places[side] = heap_zero(stacks_of(d->sel[side]), sizeof *places[side]);
                take_side(d, &g, (enum match_side)side, places[side]);
        }
        free(g.last);
        free(g.before);
        match_settle(&d->match);
        take_leaks(d, places);
        for (int side = 0; side < MATCH_SIDES; side++)
                free(places[side]);
}

/* ---- order ---- */

/* As diff_order_abs() has it; no two rows have the same stack and kind. */
static uint32_t *order_of(const struct diff *d)
{
        uint64_t *keys = heap_grow(NULL, d->count, sizeof *keys);
        uint32_t *order = arrange_start(d->count);

        for (uint32_t i = 0; i < d->count; i++)
                keys[i] = (uint64_t)d->rows[i].id << 32 | d->rows[i].kind;
        arrange_by(order, d->count, keys);
        for (uint32_t i = 0; i < d->count; i++)
                keys[i] = arrange_down(d->rows[i].key);
        arrange_by(order, d->count, keys);
        for (uint32_t i = 0; i < d->count; i++)
                keys[i] = ~(d->rows[i].key < 0 ? -(uint64_t)d->rows[i].key
                                               : (uint64_t)d->rows[i].key);
        arrange_by(order, d->count, keys);
        free(keys);
        return order;
}

void diff_make(struct diff *d, const struct selection *const sel[MATCH_SIDES],
               struct symbols *const s[MATCH_SIDES], enum sort_key key)
{
        *d = (struct diff){ .sel = { sel[0], sel[1] }, .symbols = { s[0], s[1] },
                            .known = known_of(sel) };
        match_start(&d->match, sel, s);
        take_sides(d);
        for (uint32_t i = 0; i < d->count; i++) {
                struct diff_row *row = &d->rows[i];

                struct select_row change = diff_numbers(d, row);

                row->key = (int64_t)number_of(&change, key);
                row->equal = is_nothing(d, row, &change);
        }
        d->order = order_of(d);
}

void diff_free(struct diff *d)
{
        match_free(&d->match);
        for (uint32_t i = 0; i < d->count; i++)
                for (int side = 0; side < MATCH_SIDES; side++)
                        forget_sum(&d->rows[i], (enum match_side)side);
        free(d->rows);
        free(d->order);
        free(d->leaks);
}
