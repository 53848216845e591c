/* SPDX-License-Identifier: MIT */
/* events_encode.c -- events to bytes. */
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/heap.h"
#include "profile/events_model.h"
#include "profile/format.h"

#define ENCODE_ZSTD_LEVEL 1 /* 3: 3 % smaller, a tenth slower */
#define ENCODE_AHEAD 8u
#define ENCODE_ROOM 1024u

struct column {
        char *start, *at;
        size_t room;
};

/* Address to place in the model's order: open addressing, never more than half full. */
struct encoder_slot {
        uint64_t key;
        uint32_t place; /* + 1; 0 is free */
};

struct encoder_index {
        struct encoder_slot *slots;
        uint32_t mask, shift; /* slots - 1, and 64 - their number of bits */
};

struct events_encoder {
        struct events_model model;
        struct encoder_index index;
        struct feed *sums;
        struct column column[EVENTS_COLUMN_COUNT];
        uint32_t waiting;
        ZSTD_CCtx *zstd;
        struct str packed;
};

static void put(struct events_encoder *c, enum events_column column, uint64_t value)
{
        c->column[column].at = str_varint_at(c->column[column].at, value);
}

static void put_op(struct events_encoder *c, unsigned op)
{
        *c->column[EVENTS_OP].at++ = (char)op;
}

/* ---- which block is at an address ---- */

/* Blocks of the program's own pools may begin where the block around them begins; addresses
 * leave the highest bit free. */
static uint64_t key_of(uint64_t address, uint32_t kind)
{
        return address ^ (uint64_t)(kind == LEDGER_KIND_POOL) << 63;
}

static uint32_t home_of(const struct encoder_index *x, uint64_t key)
{
        return (uint32_t)(key * 0x9e3779b97f4a7c15ull >> x->shift);
}

/* The slot of the block, or the free one where it would be. */
static struct encoder_slot *index_slot(const struct events_encoder *c, uint64_t address,
                                       uint32_t kind)
{
        const struct encoder_index *x = &c->index;
        uint64_t key = key_of(address, kind);
        uint32_t at = home_of(x, key);

        while (x->slots[at].place && x->slots[at].key != key)
                at = (at + 1) & x->mask;
        return &x->slots[at];
}

static void index_put(struct events_encoder *c, uint32_t place)
{
        const struct events_block *b = &c->model.order[place];

        *index_slot(c, b->address, b->kind) = (struct encoder_slot){ key_of(b->address, b->kind),
                                                                     place + 1 };
}

/* Close the gap: what was pushed past SLOT moves back. */
static void index_remove(struct events_encoder *c, struct encoder_slot *slot)
{
        const struct encoder_index *x = &c->index;
        uint32_t gap = (uint32_t)(slot - x->slots);

        for (uint32_t next = (gap + 1) & x->mask; x->slots[next].place;
             next = (next + 1) & x->mask) {
                if (((next - home_of(x, x->slots[next].key)) & x->mask) < ((next - gap) & x->mask))
                        continue;
                x->slots[gap] = x->slots[next];
                gap = next;
        }
        x->slots[gap].place = 0;
}

static void index_rebuild(struct events_encoder *c)
{
        uint32_t mask = 2 * c->model.room - 1;

        if (mask == c->index.mask) { /* fresh memory would cost more than the work */
                memset(c->index.slots, 0, (mask + 1ull) * sizeof *c->index.slots);
        } else {
                free(c->index.slots);
                c->index = (struct encoder_index){ .mask = mask,
                                                   .shift = (uint32_t)__builtin_clz(mask) + 32 };
                c->index.slots = heap_zero(mask + 1ull, sizeof *c->index.slots);
        }
        for (uint32_t i = 0; i < c->model.count; i++)
                index_put(c, i);
}

static void make_room(struct events_encoder *c)
{
        if (events_model_room(&c->model))
                index_rebuild(c);
}

/* ---- opening and closing ---- */

/* What the next ENCODE_ROOM events can take, in each column: most of a batch would never be used,
 * and limits count it all the same. */
static void make_columns(struct events_encoder *c)
{
        for (int i = 0; i < EVENTS_COLUMN_COUNT; i++) {
                struct column *column = &c->column[i];
                size_t used = (size_t)(column->at - column->start),
                       least = used + ENCODE_ROOM * EVENTS_BYTES_MAX;

                if (column->room >= least)
                        continue;
                column->room = 2 * least;
                column->start = heap_grow(column->start, column->room, 1);
                column->at = column->start + used;
        }
}

struct events_encoder *events_encoder_new(void)
{
        struct events_encoder *c = heap_zero(1, sizeof *c);

        events_model_open(&c->model);
        index_rebuild(c);
        make_columns(c);
        c->zstd = ZSTD_createCCtx();
        c->sums = feed_new();
        return c;
}

void events_encoder_free(struct events_encoder *c)
{
        if (!c)
                return;
        events_model_close(&c->model);
        free(c->index.slots);
        feed_free(c->sums);
        for (int i = 0; i < EVENTS_COLUMN_COUNT; i++)
                free(c->column[i].start);
        ZSTD_freeCCtx(c->zstd);
        str_free(&c->packed);
        free(c);
}

uint32_t events_waiting(const struct events_encoder *c)
{
        return c->waiting;
}

const struct feed *events_sums(const struct events_encoder *c)
{
        return c->sums;
}

/* ---- events ---- */

static void encode_thread(struct events_encoder *c, const struct ledger_event *e)
{
        struct events_model *m = &c->model;

        if (e->thread == m->thread && e->ms == m->ms)
                return;
        put_op(c, EVENTS_OP_SPECIAL(EVENTS_SPECIAL_THREAD));
        put(c, EVENTS_THREAD, e->thread);
        put(c, EVENTS_THREAD, format_zigzag((uint64_t)e->ms - m->ms));
        m->thread = e->thread;
        m->ms = e->ms;
}

static void encode_plain(struct events_encoder *c, struct events_lane *l,
                         const struct ledger_event *e)
{
        struct events_last *last = &c->model.plain[e->type];

        put_op(c, EVENTS_OP_SPECIAL(EVENTS_SPECIAL_PLAIN));
        put(c, EVENTS_PLAIN, e->type);
        put(c, EVENTS_PLAIN, e->kind);
        put(c, EVENTS_PLAIN, e->site);
        put(c, EVENTS_PLAIN, format_zigzag(e->address - last->address));
        put(c, EVENTS_PLAIN, format_zigzag(e->size - last->size));
        *last = (struct events_last){ e->address, e->size };
        if (e->type == LEDGER_EVENT_CARVE)
                feed_carve(c->sums, e->site, (int64_t)e->size, e->ms);
        make_room(c);
        if (!events_model_put_back(&c->model, l, e))
                return;
        index_put(c, c->model.count - 1);
        feed_undo(c->sums, l->taken.site,
                  (struct count_blocks){ .size = l->taken.size, .times = 1 }, e->ms);
}

static unsigned encode_site(struct events_encoder *c, struct events_lane *l, uint32_t site)
{
        if (*events_model_after_two(&c->model, l) == site)
                return EVENTS_SITE_AFTER_TWO << 2;
        if (*events_model_after_one(&c->model, l) == site)
                return EVENTS_SITE_AFTER_ONE << 2;
        put(c, EVENTS_SITE, site);
        return EVENTS_SITE_WRITTEN << 2;
}

static unsigned encode_size(struct events_encoder *c, const struct ledger_event *e)
{
        const struct events_site *s = events_model_site(&c->model, e->site);

        if (s->size == e->size && s->kind == e->kind)
                return 0;
        put(c, EVENTS_SIZE, e->size);
        put(c, EVENTS_SIZE, e->kind);
        return EVENTS_WRITTEN;
}

static unsigned encode_new_memory(struct events_encoder *c, struct events_lane *l,
                                  const struct ledger_event *e)
{
        uint64_t distance = e->address - l->cursor;

        if (!distance)
                return EVENTS_AT_CURSOR << 5;
        if (distance & 15) {
                put(c, EVENTS_ADDRESS, format_zigzag(distance));
                return EVENTS_AT_WRITTEN << 5;
        }
        put(c, EVENTS_ADDRESS, format_zigzag((uint64_t)((int64_t)distance / 16)));
        return EVENTS_AT_ALIGNED << 5;
}

static unsigned encode_address(struct events_encoder *c, struct events_lane *l,
                               const struct ledger_event *e)
{
        uint64_t address;
        uint32_t depth;
        unsigned op;

        if (e->type == LEDGER_EVENT_MOVE && l->has_taken && l->taken.address == e->address)
                return EVENTS_AT_TAKEN << 5;
        depth = events_lane_depth(l, e->size, e->address);
        if (depth == EVENTS_NOWHERE) {
                op = encode_new_memory(c, l, e);
                events_model_new_memory(l, e);
                return op;
        }
        events_lane_reuse(l, e->size, depth, &address);
        if (depth == 0)
                return EVENTS_AT_LAST_FREED << 5;
        put(c, EVENTS_DEPTH, depth);
        return EVENTS_AT_FREED << 5;
}

/* A block that stands where another one is alive: that one was freed unseen. */
static void drop_earlier(struct events_encoder *c, const struct ledger_event *e)
{
        struct encoder_slot *slot = index_slot(c, e->address, e->kind);
        uint32_t at = slot->place - 1;

        if (!slot->place)
                return;
        put_op(c, EVENTS_OP_SPECIAL(EVENTS_SPECIAL_DROP));
        put(c, EVENTS_BLOCK, c->model.count - 1 - at);
        index_remove(c, slot);
        events_model_remove(&c->model, at);
}

static void encode_alloc(struct events_encoder *c, struct events_lane *l,
                         const struct ledger_event *e)
{
        unsigned op = e->type == LEDGER_EVENT_MOVE ? EVENTS_OP_MOVE : EVENTS_OP_ALLOC;

        drop_earlier(c, e);
        op |= encode_site(c, l, e->site);
        op |= encode_size(c, e);
        op |= encode_address(c, l, e);
        put_op(c, op);
        make_room(c);
        events_model_allocated(&c->model, l, e);
        index_put(c, c->model.count - 1);
        feed_add(c->sums, e->site, (struct count_blocks){ .size = e->size, .times = 1 }, e->ms);
}

static unsigned encode_block(struct events_encoder *c, const struct events_lane *l, uint32_t at)
{
        const struct events_model *m = &c->model;
        uint64_t distance = m->count - 1 - at, near = format_zigzag((uint64_t)at - l->last);

        if (events_model_near(m, l->last, 1) == at)
                return EVENTS_BLOCK_NEXT << 2;
        if (events_model_near(m, l->last, -1) == at)
                return EVENTS_BLOCK_PREVIOUS << 2;
        if ((near < 1 << 7 && distance >= 1 << 7) || (near < 1 << 14 && distance >= 1 << 14)) {
                /* shorter */
                put(c, EVENTS_BLOCK, near);
                return EVENTS_BLOCK_NEAR << 2;
        }
        put(c, EVENTS_BLOCK, distance);
        return EVENTS_BLOCK_DISTANCE << 2;
}

static unsigned encode_caller(struct events_encoder *c, const struct events_block *b,
                              const struct ledger_event *e)
{
        const struct events_site *s = events_model_site(&c->model, b->site);

        if (s->caller == e->size && s->node == e->site && b->kind == e->kind)
                return 0;
        put(c, EVENTS_CALLER, format_zigzag(e->size - s->caller));
        put(c, EVENTS_CALLER, e->site);
        put(c, EVENTS_CALLER, e->kind);
        return EVENTS_WRITTEN;
}

static void encode_free(struct events_encoder *c, struct events_lane *l,
                        const struct ledger_event *e)
{
        unsigned op = e->type == LEDGER_EVENT_TAKE ? EVENTS_OP_TAKE : EVENTS_OP_FREE;
        struct encoder_slot *slot = index_slot(c, e->address, e->kind);
        uint32_t at = slot->place - 1;
        const struct events_block *b;

        if (!slot->place || c->model.order[at].address != e->address) {
                encode_plain(c, l, e);
                return;
        }
        b = &c->model.order[at];
        op |= encode_block(c, l, at);
        op |= encode_caller(c, b, e);
        put_op(c, op);
        index_remove(c, slot);
        feed_remove(c->sums, b->site, (struct count_blocks){ .size = b->size, .times = 1 }, e->ms);
        events_model_freed(&c->model, l, at, e);
}

static void encode_one(struct events_encoder *c, const struct ledger_event *e)
{
        struct events_lane *l = events_model_lane(&c->model, e->thread);

        encode_thread(c, e);
        switch (e->type) {
        case LEDGER_EVENT_ALLOC:
        case LEDGER_EVENT_MOVE:
                encode_alloc(c, l, e);
                break;
        case LEDGER_EVENT_FREE:
        case LEDGER_EVENT_TAKE:
                encode_free(c, l, e);
                break;
        default:
                encode_plain(c, l, e);
                break;
        }
        c->model.number++;
        c->waiting++;
}

/* Most of the time went into waiting for slots of the index. */
static void expect(const struct events_encoder *c, const struct ledger_event *e)
{
        __builtin_prefetch(&c->index.slots[home_of(&c->index, key_of(e->address, e->kind))]);
}

void events_encode(struct events_encoder *c, const struct ledger_event *e, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++) {
                if (i % ENCODE_ROOM == 0)
                        make_columns(c);
                if (i + ENCODE_AHEAD < count)
                        expect(c, &e[i + ENCODE_AHEAD]);
                encode_one(c, &e[i]);
        }
}

/* ---- batches ---- */

/* Length, stored length, bytes; stored as they are when packing does not help. */
static void pack_column(struct events_encoder *c, struct column *column, struct str *out)
{
        size_t length = (size_t)(column->at - column->start), room = ZSTD_compressBound(length),
               packed = length;
        char *to;

        str_clear(&c->packed);
        to = str_room(&c->packed, room);
        if (c->zstd) /* NULL: no memory for it */
                packed = ZSTD_compressCCtx(c->zstd, to, room, column->start, length,
                                           ENCODE_ZSTD_LEVEL);
        str_varint(out, length);
        if (ZSTD_isError(packed) || packed >= length) {
                str_varint(out, length);
                str_bytes(out, column->start, length);
        } else {
                str_varint(out, packed);
                str_bytes(out, to, packed);
        }
        column->at = column->start;
}

static void put_head(uint64_t first, uint32_t count, enum events_end end, struct str *out)
{
        str_varint(out, first);
        str_varint(out, count);
        str_varint(out, end);
}

void events_batch(struct events_encoder *c, struct str *out)
{
        put_head(c->model.number - c->waiting, c->waiting, EVENTS_END_OPEN, out);
        for (int i = 0; i < EVENTS_COLUMN_COUNT; i++)
                pack_column(c, &c->column[i], out);
        c->waiting = 0;
}

void events_last_batch(uint64_t count, enum events_end end, struct str *out)
{
        put_head(count, 0, end, out);
        for (int i = 0; i < EVENTS_COLUMN_COUNT; i++) {
                str_varint(out, 0);
                str_varint(out, 0);
        }
}
