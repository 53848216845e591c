/* SPDX-License-Identifier: MIT */
/*
 * columns.c -- arrays of records as columns of varints, driven by the tables in format.c.
 *
 * Keeps:  differences wrap at 64 bits, so every value survives the way there and back.
 * Cost:   about 4 ns per value in either direction.
 */
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "profile/parts.h"

void columns_state_free(struct columns_state *s)
{
        free(s->last);
        free(s->before);
        s->last = s->before = NULL;
}

void *parts_extend(struct profile *p, unsigned array, uint64_t count)
{
        const struct format_table *t = &format_tables[array];
        uint64_t have = format_count(p, array);
        void **records = format_array(p, array);
        char *fresh;

        *records = heap_grow(*records, have + count, t->record_bytes);
        fresh = (char *)*records + have * t->record_bytes;
        heap_ready(fresh, count * t->record_bytes);
        memset(fresh, 0, count * t->record_bytes);
        return fresh;
}

/* For each of COUNT changes from FIRST on: which change of the same site came before. */
static void find_last(struct columns_state *s, const struct profile *p, uint64_t first,
                      uint64_t count)
{
        if (!s->last) {
                s->last_count = p->site_count;
                s->last = heap_zero(s->last_count, sizeof *s->last);
                s->before = heap_grow(NULL, FORMAT_PIECE, sizeof *s->before);
        }
        for (uint64_t i = 0; i < count; i++) {
                uint32_t site = p->changes[first + i].site;

                s->before[i] = 0;
                if (site >= s->last_count)
                        continue;
                s->before[i] = s->last[site];
                s->last[site] = (uint32_t)(first + i + 1);
        }
}

/* What the value of COL in record AT is written as a difference to. */
static uint64_t near_value(const struct format_column *col, const char *at)
{
        uint64_t base = format_load(at + col->base, col->width);

        return col->less == FORMAT_NO_FIELD ? base : base - format_load(at + col->less, col->width);
}

static uint64_t last_value(const struct columns_state *s, const struct profile *p,
                           const struct format_column *col, uint64_t i)
{
        if (!s->before[i])
                return 0;
        return format_load((const char *)&p->changes[s->before[i] - 1] + col->offset, col->width);
}

static void put_text(struct str *body, const char *text, bool null_allowed)
{
        if (!text && null_allowed) {
                str_varint(body, 0);
                return;
        }
        str_varint(body, (text ? strlen(text) : 0) + 1);
        str_bytes(body, text, text ? strlen(text) : 0);
}

static bool tell_outside(const struct columns_state *s, const struct format_table *t,
                         const struct format_column *col, uint64_t index, uint64_t value,
                         struct err *e)
{
        return err_set(e, ERR_EXIT_FINDINGS,
                       "the recording contradicts itself: %s[%llu] refers to %s[%llu] of %llu",
                       t->name, (unsigned long long)index, format_tables[col->refers].name,
                       (unsigned long long)value, (unsigned long long)s->declared[col->refers]);
}

static void put_text_column(const struct format_column *col, const char *records, uint64_t count,
                            uint32_t step, struct str *body)
{
        for (uint64_t i = 0; i < count; i++) {
                const char *at = records + i * step + col->offset;

                if (col->coding == FORMAT_BYTES)
                        str_bytes(body, at, col->width);
                else
                        put_text(body, *(char *const *)(const void *)at,
                                 col->coding == FORMAT_TEXT);
        }
}

/* One column of COUNT records, on its way in either direction. */
struct column {
        const struct columns_state *s;
        const struct profile *p;
        const struct format_column *col;
        uint64_t count;
        uint32_t step;
};

/* Inlined once per coding and width, so that the loop has no decisions left. */
static inline __attribute__((always_inline)) char *put_values(const struct column *d,
                                                              const char *records, char *to,
                                                              enum format_coding coding,
                                                              unsigned width)
{
        const struct format_column *col = d->col;
        uint64_t before = 0;

        for (uint64_t i = 0; i < d->count; i++) {
                const char *at = records + i * d->step;
                uint64_t value = format_load(at + col->offset, width);

                if (coding == FORMAT_PLAIN)
                        to = str_varint_at(to, value);
                else if (coding == FORMAT_DELTA)
                        to = str_varint_at(to, format_zigzag(value - before));
                else if (coding == FORMAT_NEAR)
                        to = str_varint_at(to, format_zigzag(value - near_value(col, at)));
                else
                        to = str_varint_at(to,
                                           format_zigzag(value - last_value(d->s, d->p, col, i)));
                before = value;
        }
        return to;
}

static char *put_number_column(const struct column *d, const char *records, char *to)
{
        bool wide = d->col->width == 8;

        switch (d->col->coding) {
        case FORMAT_PLAIN:
                return wide ? put_values(d, records, to, FORMAT_PLAIN, 8)
                            : put_values(d, records, to, FORMAT_PLAIN, 4);
        case FORMAT_DELTA:
                return wide ? put_values(d, records, to, FORMAT_DELTA, 8)
                            : put_values(d, records, to, FORMAT_DELTA, 4);
        case FORMAT_NEAR:
                return wide ? put_values(d, records, to, FORMAT_NEAR, 8)
                            : put_values(d, records, to, FORMAT_NEAR, 4);
        default: /* of 8-byte members only, see format.c */
                return put_values(d, records, to, FORMAT_LAST, 8);
        }
}

/* What the reader would refuse is not written. */
static bool check_references(const struct column *d, const struct format_table *t,
                             const char *records, uint64_t first, struct err *e)
{
        for (uint64_t i = 0; i < d->count; i++) {
                uint64_t value = format_load(records + i * d->step + d->col->offset, d->col->width);

                if (value && value >= d->s->declared[d->col->refers])
                        return tell_outside(d->s, t, d->col, first + i, value, e);
        }
        return true;
}

bool columns_put(struct columns_state *s, const struct profile *p, unsigned array, uint64_t first,
                 uint64_t count, struct str *body, struct err *e)
{
        const struct format_table *t = &format_tables[array];
        const char *records = (const char *)format_records(p, array) + first * t->record_bytes;

        if (array == FORMAT_CHANGES)
                find_last(s, p, first, count);
        for (uint32_t k = 0; k < t->column_count; k++) {
                struct column d = { s, p, &t->columns[k], count, t->record_bytes };

                if (d.col->refers != FORMAT_NONE && !check_references(&d, t, records, first, e))
                        return false;
                if (d.col->coding >= FORMAT_TEXT)
                        put_text_column(d.col, records, count, d.step, body);
                else
                        str_end(body, put_number_column(&d, records,
                                                        str_room(body, count * STR_VARINT_MAX)));
        }
        return true;
}

static void get_text_column(const struct format_column *col, char *records, uint64_t count,
                            uint32_t step, struct cursor *c)
{
        for (uint64_t i = 0; i < count && !c->bad; i++) {
                char *at = records + i * step + col->offset;

                if (col->coding == FORMAT_BYTES) {
                        const uint8_t *bytes = cursor_bytes(c, col->width);

                        if (bytes)
                                memcpy(at, bytes, col->width);
                } else {
                        char *text = cursor_text(c);

                        if (!text && col->coding == FORMAT_NAME)
                                text = heap_text("");
                        memcpy(at, &text, sizeof text);
                }
        }
}

/* The largest value the column may have. */
static uint64_t column_limit(const struct column *d)
{
        uint64_t limit = d->col->width == 8 ? UINT64_MAX : UINT32_MAX;
        uint64_t declared;

        if (d->col->refers == FORMAT_NONE)
                return limit;
        declared = d->s->declared[d->col->refers];
        if (declared > limit)
                return limit;
        return declared ? declared - 1 : 0;
}

/* Inlined once per coding and width, so that the loop has no decisions left. */
static inline __attribute__((always_inline)) void get_values(const struct column *d, char *records,
                                                             struct cursor *c,
                                                             enum format_coding coding,
                                                             unsigned width)
{
        const struct format_column *col = d->col;
        uint64_t limit = column_limit(d), value = 0, over = 0;
        struct cursor local = *c;

        for (uint64_t i = 0; i < d->count; i++) {
                char *at = records + i * d->step;
                uint64_t stored = cursor_varint(&local);

                if (coding == FORMAT_PLAIN)
                        value = stored;
                else if (coding == FORMAT_DELTA)
                        value += format_unzigzag(stored);
                else if (coding == FORMAT_NEAR)
                        value = near_value(col, at) + format_unzigzag(stored);
                else
                        value = last_value(d->s, d->p, col, i) + format_unzigzag(stored);
                over |= value > limit;
                format_store(at + col->offset, width, value);
        }
        *c = local;
        c->bad |= over;
}

/* All values are the same byte: a thread, a class, the distance of blocks.  Records are zero
 * before they are read. */
static bool get_run(const struct column *d, char *records, struct cursor *c)
{
        const struct format_column *col = d->col;
        bool rises = col->coding == FORMAT_DELTA;
        uint64_t limit, value, step;

        if ((!rises && col->coding != FORMAT_PLAIN) || d->count < 2 || cursor_left(c) < d->count ||
            c->at[0] >= 0x80 || memcmp(c->at, c->at + 1, d->count - 1) != 0)
                return false;
        step = rises ? format_unzigzag(c->at[0]) : 0;
        value = rises ? step : c->at[0];
        limit = column_limit(d);
        c->at += d->count;
        for (uint64_t i = 0; (value || step) && i < d->count; i++, value += step) {
                c->bad |= value > limit;
                format_store(records + i * d->step + col->offset, col->width, value);
        }
        return true;
}

static void get_number_column(const struct column *d, char *records, struct cursor *c)
{
        bool wide = d->col->width == 8;

        if (get_run(d, records, c))
                return;
        switch (d->col->coding) {
        case FORMAT_PLAIN:
                if (wide)
                        get_values(d, records, c, FORMAT_PLAIN, 8);
                else
                        get_values(d, records, c, FORMAT_PLAIN, 4);
                break;
        case FORMAT_DELTA:
                if (wide)
                        get_values(d, records, c, FORMAT_DELTA, 8);
                else
                        get_values(d, records, c, FORMAT_DELTA, 4);
                break;
        case FORMAT_NEAR:
                if (wide)
                        get_values(d, records, c, FORMAT_NEAR, 8);
                else
                        get_values(d, records, c, FORMAT_NEAR, 4);
                break;
        case FORMAT_LAST:
                get_values(d, records, c, FORMAT_LAST, 8);
                break;
        }
}

/* A record takes a byte per column at least, which bounds COUNT by what is there. */
bool columns_get(struct columns_state *s, struct profile *p, unsigned array, uint64_t count,
                 struct cursor *c)
{
        const struct format_table *t = &format_tables[array];
        uint32_t needed = t->column_count - t->late;
        uint64_t first = format_count(p, array);
        char *records;

        if (count > FORMAT_PIECE || count > cursor_left(c) / needed ||
            (s->broken && array == FORMAT_CHANGES))
                return false;
        records = parts_extend(p, array, count);
        for (uint32_t k = 0; k < t->column_count && !c->bad; k++) {
                struct column d = { s, p, &t->columns[k], count, t->record_bytes };

                if (k >= needed && !cursor_left(c))
                        break;
                if (d.col->coding >= FORMAT_TEXT)
                        get_text_column(d.col, records, count, d.step, c);
                else
                        get_number_column(&d, records, c);
                if (array == FORMAT_CHANGES && k == 0 && !c->bad)
                        find_last(s, p, first, count);
        }
        if (c->bad) {
                /* `last` points to records that are dropped now. */
                s->broken |= array == FORMAT_CHANGES;
                format_free_texts(array, records, count);
                return false;
        }
        format_set_count(p, array, first + count);
        return true;
}
