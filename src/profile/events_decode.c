/* SPDX-License-Identifier: MIT */
/*
 * events_decode.c -- bytes to events.
 *
 * Keeps:  trusts no byte: what cannot have been written ends the batch as damaged.
 */
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/heap.h"
#include "profile/cursor.h"
#include "profile/events_model.h"
#include "profile/format.h"

struct events_decoder {
        struct events_model model;
        struct cursor column[EVENTS_COLUMN_COUNT];
        struct str unpacked[EVENTS_COLUMN_COUNT];
        uint64_t count; /* events of all batches taken */
        uint32_t left;  /* of this batch */
        uint32_t end;
        bool damaged;
        ZSTD_DCtx *zstd;
};

struct events_decoder *events_decoder_new(void)
{
        struct events_decoder *d = heap_zero(1, sizeof *d);

        events_model_open(&d->model);
        d->zstd = ZSTD_createDCtx();
        return d;
}

void events_decoder_free(struct events_decoder *d)
{
        if (!d)
                return;
        events_model_close(&d->model);
        for (int i = 0; i < EVENTS_COLUMN_COUNT; i++)
                str_free(&d->unpacked[i]);
        ZSTD_freeDCtx(d->zstd);
        free(d);
}

bool events_damaged(const struct events_decoder *d)
{
        return d->damaged;
}

enum events_end events_ended(const struct events_decoder *d)
{
        return d->end;
}

uint64_t events_count(const struct events_decoder *d)
{
        return d->count;
}

/* ---- batches ---- */

static bool take_column(struct events_decoder *d, struct cursor *c, int column)
{
        uint64_t length = cursor_varint(c), stored = cursor_varint(c);
        const uint8_t *bytes = cursor_bytes(c, stored);
        struct str *to = &d->unpacked[column];

        if (!bytes || length > EVENTS_COLUMN_MAX)
                return false;
        if (stored != length) {
                str_clear(to);
                if (!d->zstd || ZSTD_decompressDCtx(d->zstd, str_room(to, length), length, bytes,
                                                    stored) != length)
                        return false;
                bytes = (const uint8_t *)to->data;
        }
        d->column[column] = (struct cursor){ bytes, bytes + length, false };
        return true;
}

static bool take_all(struct events_decoder *d, struct cursor *c)
{
        uint64_t first = cursor_varint(c), count = cursor_varint(c), end = cursor_varint(c);

        if (d->damaged || d->left || d->end || c->bad || first != d->count ||
            count > EVENTS_BATCH || end >= EVENTS_END_COUNT)
                return false;
        for (int i = 0; i < EVENTS_COLUMN_COUNT; i++)
                if (!take_column(d, c, i))
                        return false;
        if (cursor_left(c))
                return false;
        d->left = (uint32_t)count;
        d->count += count;
        d->end = (uint32_t)end;
        return true;
}

bool events_take(struct events_decoder *d, const uint8_t *batch, size_t bytes)
{
        struct cursor c = { batch, batch + bytes, false };

        d->damaged = !take_all(d, &c);
        return !d->damaged;
}

/* ---- events ---- */

static uint64_t get(struct events_decoder *d, enum events_column column)
{
        uint64_t value = cursor_varint(&d->column[column]);

        d->damaged |= d->column[column].bad;
        return value;
}

/* A number that must be below LIMIT. */
static uint64_t get_below(struct events_decoder *d, enum events_column column, uint64_t limit)
{
        uint64_t value = get(d, column);

        if (value < limit)
                return value;
        d->damaged = true;
        return 0;
}

static bool is_live(struct events_decoder *d, uint64_t at)
{
        if (at >= d->model.count || !d->model.order[at].live)
                d->damaged = true;
        return !d->damaged;
}

static void decode_thread(struct events_decoder *d)
{
        d->model.thread = (uint16_t)get_below(d, EVENTS_THREAD, UINT16_MAX + 1u);
        d->model.ms += (uint32_t)format_unzigzag(get(d, EVENTS_THREAD));
}

static void decode_drop(struct events_decoder *d)
{
        uint64_t at = d->model.count - 1 - get(d, EVENTS_BLOCK);

        if (is_live(d, at))
                events_model_remove(&d->model, (uint32_t)at);
}

static void decode_plain(struct events_decoder *d, struct events_lane *l, struct ledger_event *e)
{
        struct events_last *last;

        e->type = (uint8_t)get_below(d, EVENTS_PLAIN, UINT8_MAX + 1u);
        e->kind = (uint8_t)get_below(d, EVENTS_PLAIN, UINT8_MAX + 1u);
        e->site = (uint32_t)get_below(d, EVENTS_PLAIN, UINT32_MAX + 1ull);
        last = &d->model.plain[e->type];
        e->address = last->address + format_unzigzag(get(d, EVENTS_PLAIN));
        e->size = last->size + format_unzigzag(get(d, EVENTS_PLAIN));
        *last = (struct events_last){ e->address, e->size };
        events_model_room(&d->model);
        events_model_put_back(&d->model, l, e);
}

static uint32_t decode_site(struct events_decoder *d, const struct events_lane *l, unsigned op)
{
        switch (op >> 2 & 3) {
        case EVENTS_SITE_AFTER_TWO:
                return *events_model_after_two(&d->model, l);
        case EVENTS_SITE_AFTER_ONE:
                return *events_model_after_one(&d->model, l);
        case EVENTS_SITE_WRITTEN:
                return (uint32_t)get_below(d, EVENTS_SITE, UINT32_MAX + 1ull);
        }
        d->damaged = true;
        return 0;
}

static void decode_size(struct events_decoder *d, unsigned op, struct ledger_event *e)
{
        const struct events_site *s = events_model_site(&d->model, e->site);

        e->size = s->size;
        e->kind = s->kind;
        if (op & EVENTS_WRITTEN) {
                e->size = get(d, EVENTS_SIZE);
                e->kind = (uint8_t)get_below(d, EVENTS_SIZE, UINT8_MAX + 1u);
        }
}

static void decode_address(struct events_decoder *d, struct events_lane *l, unsigned op,
                           struct ledger_event *e)
{
        uint32_t depth = 0;

        switch (op >> 5) {
        case EVENTS_AT_TAKEN:
                d->damaged |= !l->has_taken;
                e->address = l->taken.address;
                return;
        case EVENTS_AT_FREED:
                depth = (uint32_t)get_below(d, EVENTS_DEPTH, EVENTS_FREED);
                __attribute__((fallthrough));
        case EVENTS_AT_LAST_FREED:
                d->damaged |= !events_lane_reuse(l, e->size, depth, &e->address);
                return;
        case EVENTS_AT_CURSOR:
                e->address = l->cursor;
                break;
        case EVENTS_AT_ALIGNED:
                e->address = l->cursor + format_unzigzag(get(d, EVENTS_ADDRESS)) * 16;
                break;
        case EVENTS_AT_WRITTEN:
                e->address = l->cursor + format_unzigzag(get(d, EVENTS_ADDRESS));
                break;
        default:
                d->damaged = true;
        }
        events_model_new_memory(l, e);
}

static void decode_alloc(struct events_decoder *d, struct events_lane *l, unsigned op,
                         struct ledger_event *e)
{
        e->type = (op & 3) == EVENTS_OP_MOVE ? LEDGER_EVENT_MOVE : LEDGER_EVENT_ALLOC;
        e->site = decode_site(d, l, op);
        decode_size(d, op, e);
        decode_address(d, l, op, e);
        if (d->damaged)
                return;
        events_model_room(&d->model);
        events_model_allocated(&d->model, l, e);
}

static uint64_t decode_block(struct events_decoder *d, const struct events_lane *l, unsigned op)
{
        switch (op >> 2 & 3) {
        case EVENTS_BLOCK_NEXT:
                return events_model_near(&d->model, l->last, 1);
        case EVENTS_BLOCK_PREVIOUS:
                return events_model_near(&d->model, l->last, -1);
        case EVENTS_BLOCK_NEAR:
                return l->last + format_unzigzag(get(d, EVENTS_BLOCK));
        }
        return d->model.count - 1 - get(d, EVENTS_BLOCK);
}

static void decode_free(struct events_decoder *d, struct events_lane *l, unsigned op,
                        struct ledger_event *e)
{
        uint64_t at = decode_block(d, l, op);
        const struct events_site *s;

        e->type = (op & 3) == EVENTS_OP_TAKE ? LEDGER_EVENT_TAKE : LEDGER_EVENT_FREE;
        if (!is_live(d, at))
                return;
        s = events_model_site(&d->model, d->model.order[at].site);
        e->address = d->model.order[at].address;
        e->size = s->caller;
        e->site = s->node;
        e->kind = d->model.order[at].kind;
        if (op & EVENTS_WRITTEN) {
                e->size = s->caller + format_unzigzag(get(d, EVENTS_CALLER));
                e->site = (uint32_t)get_below(d, EVENTS_CALLER, UINT32_MAX + 1ull);
                e->kind = (uint8_t)get_below(d, EVENTS_CALLER, UINT8_MAX + 1u);
        }
        events_model_freed(&d->model, l, (uint32_t)at, e);
}

/* The op of the next event, after those that are none. */
static unsigned next_op(struct events_decoder *d)
{
        struct cursor *ops = &d->column[EVENTS_OP];

        while (ops->at < ops->end && !d->damaged) {
                unsigned op = *ops->at++;

                if (op == EVENTS_OP_SPECIAL(EVENTS_SPECIAL_THREAD))
                        decode_thread(d);
                else if (op == EVENTS_OP_SPECIAL(EVENTS_SPECIAL_DROP))
                        decode_drop(d);
                else
                        return op;
        }
        d->damaged = true;
        return 0;
}

bool events_next(struct events_decoder *d, struct ledger_event *e)
{
        struct events_lane *l;
        unsigned op;

        if (d->damaged || !d->left)
                return false;
        d->left--;
        op = next_op(d);
        l = events_model_lane(&d->model, d->model.thread);
        *e = (struct ledger_event){ .stamp = (uint32_t)++d->model.number, .thread = d->model.thread,
                                    .ms = d->model.ms };
        if (d->damaged)
                return false;
        if (op == EVENTS_OP_SPECIAL(EVENTS_SPECIAL_PLAIN))
                decode_plain(d, l, e);
        else if (op & 1)
                decode_free(d, l, op, e);
        else
                decode_alloc(d, l, op, e);
        return !d->damaged;
}
