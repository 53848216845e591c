/* SPDX-License-Identifier: MIT */
/*
 * diff.c -- what changed between two recordings, or two moments of one.
 *
 * Room:   outside.
 */
#include "report/diff.h"

#include <stdlib.h>

#include "base/heap.h"
#include "report/memlog.h"
#include "report/merge.h"

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
        int64_t old = select_weight(d->sel[MATCH_OLD], row->sums[MATCH_OLD].bytes, row->sums[MATCH_OLD].count);
        int64_t new = select_weight(d->sel[MATCH_NEW], row->sums[MATCH_NEW].bytes, row->sums[MATCH_NEW].count);

        if (old == new)
                return DIFF_SAME;
        if (!old || !new)
                return old ? DIFF_GONE : DIFF_NEW;
        return new > old ? DIFF_GROWN : DIFF_SHRUNK;
}

static uint64_t number_of(const struct select_row *row, enum flat_key key)
{
        switch (key) {
        case FLAT_LIVE_BLOCKS:
                return row->live_blocks;
        case FLAT_PEAK_BYTES:
                return row->peak_bytes;
        case FLAT_ALLOC_BYTES:
                return row->alloc_bytes;
        case FLAT_ALLOCS:
                return row->allocs;
        default:
                return row->live_bytes;
        }
}

bool diff_key_known(enum flat_key key)
{
        return key == FLAT_LIVE_BYTES || key == FLAT_LIVE_BLOCKS || key == FLAT_PEAK_BYTES || key == FLAT_ALLOC_BYTES ||
               key == FLAT_ALLOCS;
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

        return (struct select_known){ .calls = old.calls && new.calls, .peak = old.lifetimes && new.lifetimes,
                                      .temporary = old.temporary && new.temporary, .lifetimes = old.lifetimes && new.lifetimes,
                                      .end = old.end && new.end };
}

/* What one of the two moments does not tell did not change. */
static void forget_unknown(const struct diff *d, struct select_row *change)
{
        if (!d->known.peak)
                change->peak_blocks = change->peak_bytes = 0;
        if (!d->known.temporary)
                change->temporary = 0;
        if (!d->known.lifetimes)
                change->lifetime_ms = 0;
        if (!d->known.calls)
                change->allocs = change->frees = change->alloc_bytes = 0;
}

static bool is_nothing(const struct diff_row *row)
{
        const struct select_row *c = &row->change;

        for (int leak = 0; leak < PROFILE_LEAK_COUNT; leak++)
                if (row->leaks[leak].blocks || row->leaks[leak].bytes)
                        return false;
        return !c->allocs && !c->frees && !c->alloc_bytes && !c->live_blocks && !c->live_bytes && !c->peak_blocks &&
               !c->peak_bytes && !c->temporary;
}

/* SIGN 1 adds, UINT64_MAX subtracts. */
static void add_leaks(struct leaks_sum *to, const struct leaks_sum *sums, uint64_t sign)
{
        for (int leak = 0; leak < PROFILE_LEAK_COUNT; leak++) {
                to[leak].blocks += sign * sums[leak].blocks;
                to[leak].bytes += sign * sums[leak].bytes;
        }
}

void diff_leaks(const struct diff *d, struct leaks_sum sums[PROFILE_LEAK_COUNT])
{
        for (int leak = 0; leak < PROFILE_LEAK_COUNT; leak++)
                sums[leak] = (struct leaks_sum){ 0 };
        for (uint32_t i = 0; i < d->count; i++)
                add_leaks(sums, d->rows[i].leaks, 1);
}

/* What leaks changed by. */
static void take_leaks(struct diff *d)
{
        d->searched = true;
        for (int side = 0; side < MATCH_SIDES; side++)
                d->searched &= d->sel[side]->moment == SELECT_OF_RUN && profile_scanned(d->sel[side]->profile);
        for (int side = 0; d->searched && side < MATCH_SIDES; side++) {
                struct leaks l;

                leaks_make_usual(&l, d->sel[side], d->symbols[side]);
                for (uint32_t i = 0; i < d->count; i++)
                        if (d->rows[i].shown == (enum match_side)side)
                                add_leaks(d->rows[i].leaks, leaks_of_site(&l, d->rows[i].site), side == MATCH_NEW ? 1 : UINT64_MAX);
                leaks_free(&l);
        }
}

static void take_part(struct diff *d, enum match_side side, const struct select_part *part)
{
        for (uint32_t i = 0; i < part->count; i++) {
                const struct select_row *row = &part->rows[i];
                struct diff_row *to = &d->rows[d->count++];

                *to = (struct diff_row){ .site = row->site,
                                         .shown = side,
                                         .from = { row->node, row->level },
                                         .kind = row->kind };
                to->id = match_stack(&d->match, side, to->from);
                to->sums[side] = *row;
        }
}

/* Same stack and kind together, the one to show first. */
static int by_stack(const void *a, const void *b)
{
        const struct diff_row *x = a, *y = b;

        if (x->id != y->id)
                return x->id < y->id ? -1 : 1;
        if (x->kind != y->kind)
                return x->kind < y->kind ? -1 : 1;
        if (x->shown != y->shown)
                return x->shown == MATCH_NEW ? -1 : 1;
        return x->site < y->site ? -1 : x->site > y->site;
}

static int by_key(const void *a, const void *b)
{
        const struct diff_row *x = a, *y = b;
        int order = memlog_order_abs(x->key, y->key);

        return order ? order : by_stack(a, b);
}

static void merge(struct diff *d)
{
        uint32_t kept = 0;

        qsort(d->rows, d->count, sizeof *d->rows, by_stack);
        for (uint32_t i = 0; i < d->count; i++) {
                struct diff_row *to = kept ? &d->rows[kept - 1] : NULL;

                if (!to || to->id != d->rows[i].id || to->kind != d->rows[i].kind) {
                        d->rows[kept++] = d->rows[i];
                        continue;
                }
                for (int side = 0; side < MATCH_SIDES; side++)
                        merge_add(&to->sums[side], &d->rows[i].sums[side]);
                add_leaks(to->leaks, d->rows[i].leaks, 1);
        }
        d->count = kept;
}

void diff_make(struct diff *d, const struct selection *const sel[MATCH_SIDES], struct symbols *const s[MATCH_SIDES],
               enum flat_key key)
{
        *d = (struct diff){ .sel = { sel[0], sel[1] }, .symbols = { s[0], s[1] }, .known = known_of(sel) };
        match_start(&d->match, sel, s);
        d->rows = heap_zero((size_t)sel[0]->heap.count + sel[0]->mapped.count + sel[1]->heap.count + sel[1]->mapped.count,
                            sizeof *d->rows);
        for (int side = 0; side < MATCH_SIDES; side++) {
                take_part(d, (enum match_side)side, &sel[side]->heap);
                take_part(d, (enum match_side)side, &sel[side]->mapped);
        }
        take_leaks(d);
        merge(d);
        for (uint32_t i = 0; i < d->count; i++) {
                struct diff_row *row = &d->rows[i];

                row->change = difference(&row->sums[MATCH_NEW], &row->sums[MATCH_OLD]);
                forget_unknown(d, &row->change);
                row->key = (int64_t)number_of(&row->change, key);
                row->equal = is_nothing(row);
        }
        qsort(d->rows, d->count, sizeof *d->rows, by_key);
}

void diff_free(struct diff *d)
{
        match_free(&d->match);
        free(d->rows);
}
