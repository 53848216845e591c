/* SPDX-License-Identifier: MIT */
#include "export/sqlite_pages.h"

#include <endian.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arrange.h"
#include "base/heap.h"
#include "base/io.h"

enum { TABLE_LEAF = 13, TABLE_INNER = 5, INDEX_LEAF = 10, INDEX_INNER = 2 };
enum { LEAF_HEAD = 8, INNER_HEAD = 12, POINTER = 2 };

#define PAGES_LATE ((size_t)64 << 10)
#define PAGES_LOCK \
        (0x40000000u / SQL_PAGE + 1) /* where SQLite puts its locks: a page that is never used */
#define LOCAL_MOST (SQL_PAGE - 35)   /* bytes of a row that are in its leaf, if it has no more */
#define LOCAL_LEAST ((SQL_PAGE - 12) * 32 / 255 - 23)
#define OVERFLOW_BYTES (SQL_PAGE - 4)
#define TABLE_CHILDREN ((SQL_PAGE - INNER_HEAD) / (4 + 9 + POINTER))
#define ENTRY_MOST (4 + 8 * (SQL_KEYS + 1)) /* bytes of an entry of an index */
#define INDEX_CHILDREN ((SQL_PAGE - INNER_HEAD) / (4 + 1 + ENTRY_MOST + POINTER))

static void put16(uint8_t *to, uint32_t value)
{
        uint16_t big = htobe16((uint16_t)value);

        memcpy(to, &big, sizeof big);
}

static void put32(uint8_t *to, uint32_t value)
{
        uint32_t big = htobe32(value);

        memcpy(to, &big, sizeof big);
}

uint8_t *record_long_varint(uint8_t *to, uint64_t number)
{
        uint8_t bytes[10];
        unsigned n = 0;

        if (number >> 56) { /* nine bytes: the last has eight bits */
                for (int i = 8; i >= 0; i--) {
                        to[i] = (uint8_t)(i == 8 ? number : number | 0x80);
                        number >>= i == 8 ? 8 : 7;
                }
                return to + 9;
        }
        do
                bytes[n++] = (uint8_t)(number & 0x7f);
        while (number >>= 7);
        while (n > 1)
                *to++ = bytes[--n] | 0x80;
        *to++ = bytes[0];
        return to;
}

/* Bytes that a number takes, and the type that says so. */
static unsigned number_bytes(int64_t value, unsigned *type)
{
        static const uint8_t types[] = { 0, 1, 2, 3, 4, 5, 5, 6, 6 },
                             bytes[] = { 0, 1, 2, 3, 4, 6, 8 }; /* by bytes; by types */
        uint64_t size = (uint64_t)(value < 0 ? ~value : value);

        if (size <= 1 && value >= 0) {
                *type = 8 + (unsigned)size;
                return 0;
        }
        *type = types[size ? (64 - (unsigned)__builtin_clzll(size)) / 8 + 1
                           : 1]; /* one bit more, for the sign */
        return bytes[*type];
}

/* There is room for eight bytes, whatever it takes. */
static uint8_t *put_number(uint8_t *to, int64_t value, unsigned bytes)
{
        uint64_t high = bytes ? (uint64_t)value << (64 - 8 * bytes) : 0;

        put32(to, (uint32_t)(high >> 32));
        put32(to + 4, (uint32_t)high);
        return to + bytes;
}

unsigned record_number(struct str *body, int64_t value)
{
        unsigned type, bytes = number_bytes(value, &type);

        put_number((uint8_t *)body->data + body->length, value, bytes);
        body->length += bytes;
        return type;
}

/* ---- the file ---- */

static void flush(struct sql_pages *p)
{
        if (!p->failed && p->late.length)
                p->failed = !io_write(p->fd, p->late.data, p->late.length);
        p->late.length = 0;
}

static void append(struct sql_pages *p, const void *bytes, size_t count)
{
        uint64_t used = (uint64_t)p->count * SQL_PAGE;

        p->count += (uint32_t)(count / SQL_PAGE);
        if (p->fd >= 0) {
                str_bytes(&p->late, bytes, count);
                if (p->late.length >= PAGES_LATE)
                        flush(p);
                return;
        }
        if (used + count > p->room) {
                uint64_t room = used + count + used / 2;
                unsigned char *more = sqlite3_realloc64(p->data, room);

                p->failed |= !more;
                p->data = more ? more : p->data;
                p->room = more ? room : p->room;
        }
        if (!p->failed)
                memcpy(p->data + used, bytes, count);
}

/* The number that the page after N will have. */
static uint32_t page_after(uint32_t n)
{
        return n + 1 == PAGES_LOCK ? n + 2 : n + 1;
}

static uint32_t page_add(struct sql_pages *p, const uint8_t *page)
{
        static const uint8_t nothing[SQL_PAGE];

        if (p->count + 1 == PAGES_LOCK)
                append(p, nothing, SQL_PAGE);
        append(p, page, SQL_PAGE);
        return p->count;
}

/* A part of page N, which is there. */
static void page_change(struct sql_pages *p, uint32_t n, const void *bytes, size_t count)
{
        uint64_t at = (uint64_t)(n - 1) * SQL_PAGE;

        if (p->fd >= 0) {
                flush(p);
                p->failed |= pwrite(p->fd, bytes, count, (off_t)at) != (ssize_t)count;
        } else if (!p->failed) {
                memcpy(p->data + at, bytes, count);
        }
}

void sql_pages_start(struct sql_pages *p, const unsigned char *image, uint64_t bytes, int fd)
{
        *p = (struct sql_pages){ .fd = fd };
        append(p, image, bytes);
}

/* The size is believed when the counter of changes is the one that it was written for. */
void sql_pages_end(struct sql_pages *p)
{
        enum { CHANGES = 24, SIZE = 28, SIZE_OF = 92, VERSION = 96, HEAD = 100 };
        uint8_t head[HEAD];

        if (p->fd >= 0) {
                flush(p);
                p->failed |= !io_read_at(p->fd, head, sizeof head, 0);
        } else if (!p->failed) {
                memcpy(head, p->data, sizeof head);
        }
        str_free(&p->late);
        if (p->failed)
                return;
        put32(head + CHANGES, 1);
        put32(head + SIZE, p->count);
        put32(head + SIZE_OF, 1);
        put32(head + VERSION, (uint32_t)sqlite3_libversion_number());
        page_change(p, 1, head, sizeof head);
}

/* ---- pages that are filled, from the end to the front ---- */

static void leaf_start(struct sql_leaf *l)
{
        l->cells = 0;
        l->top = SQL_PAGE;
}

/* Room for a cell of SIZE bytes; NULL: there is none. */
static uint8_t *leaf_cell(struct sql_leaf *l, uint32_t head, size_t size)
{
        if (head + POINTER * (l->cells + 1) + size > l->top)
                return NULL;
        l->top -= (uint32_t)size;
        put16(l->bytes + head + POINTER * l->cells++, l->top);
        return l->bytes + l->top;
}

static void leaf_finish(struct sql_leaf *l, unsigned type, uint32_t head)
{
        uint32_t used = head + POINTER * l->cells;

        memset(l->bytes + used, 0, l->top - used);
        l->bytes[0] = (uint8_t)type;
        put16(l->bytes + 1, 0);
        put16(l->bytes + 3, l->cells);
        put16(l->bytes + 5, l->top);
        l->bytes[7] = 0;
}

static void level_add(struct sql_level *l, uint32_t page, uint64_t key)
{
        l->at = heap_next(l->at, l->count, sizeof *l->at);
        l->at[l->count++] = (struct sql_child){ page, key };
}

/* A tree of one kind: how a key is written between two pages. */
struct sql_tree {
        struct sql_pages *pages;
        uint32_t root;
        unsigned inner;
        uint32_t children; /* of a page at most */
        size_t (*put_key)(const struct sql_tree *t, uint64_t key, uint8_t *to);
        const struct sql_index *index;
        const uint32_t *order, *ids;
};

static void put_inner(const struct sql_tree *t, const struct sql_child *at, uint32_t count,
                      struct sql_leaf *page)
{
        leaf_start(page);
        for (uint32_t i = 0; i + 1 < count; i++) {
                uint8_t key[1 + ENTRY_MOST + 8];
                size_t bytes = t->put_key(t, at[i].key, key);
                uint8_t *cell = leaf_cell(page, INNER_HEAD, 4 + bytes);

                put32(cell, at[i].page);
                memcpy(cell + 4, key, bytes);
        }
        leaf_finish(page, t->inner, INNER_HEAD);
        put32(page->bytes + LEAF_HEAD, at[count - 1].page);
}

/* The leaves are there: what is above them, level by level, about as many on each page of a level.
 */
static void put_levels(const struct sql_tree *t, struct sql_level *level)
{
        struct sql_leaf page;

        while (level->count > t->children) {
                struct sql_level above = { 0 };
                uint32_t pages = (level->count + t->children - 1) / t->children;

                for (uint32_t i = 0; i < pages; i++) {
                        uint32_t from = (uint32_t)((uint64_t)level->count * i / pages),
                                 to = (uint32_t)((uint64_t)level->count * (i + 1) / pages);

                        put_inner(t, level->at + from, to - from, &page);
                        level_add(&above, page_add(t->pages, page.bytes), level->at[to - 1].key);
                }
                free(level->at);
                *level = above;
        }
        put_inner(t, level->at, level->count, &page);
        page_change(t->pages, t->root, page.bytes, SQL_PAGE);
        free(level->at);
        *level = (struct sql_level){ 0 };
}

/* ---- tables ---- */

static size_t put_id(const struct sql_tree *t, uint64_t key, uint8_t *to)
{
        (void)t;
        return (size_t)(record_varint(to, key) - to);
}

void sql_table_start(struct sql_table *t, struct sql_pages *pages, uint32_t root)
{
        t->pages = pages;
        t->root = root;
        t->level = (struct sql_level){ 0 };
        t->last = 0;
        leaf_start(&t->leaf);
}

/* What of a long record is not in its leaf: a list of pages.  The first of them. */
static uint32_t put_overflow(struct sql_pages *p, const char *bytes, size_t count)
{
        uint32_t first = page_after(p->count);

        while (count) {
                size_t part = count < OVERFLOW_BYTES ? count : OVERFLOW_BYTES;
                uint8_t page[SQL_PAGE] = { 0 };

                count -= part;
                put32(page, count ? page_after(page_after(p->count)) : 0);
                memcpy(page + 4, bytes, part);
                bytes += part;
                page_add(p, page);
        }
        return first;
}

static void flush_leaf(struct sql_table *t)
{
        leaf_finish(&t->leaf, TABLE_LEAF, LEAF_HEAD);
        level_add(&t->level, page_add(t->pages, t->leaf.bytes), t->last);
        leaf_start(&t->leaf);
}

bool sql_table_row(struct sql_table *t, uint64_t id, const char *record, size_t count)
{
        uint8_t head[20], *end = record_varint(record_varint(head, count), id), *cell;
        size_t local = count, before = (size_t)(end - head);
        uint32_t rest = 0;

        if (id <= t->last && (t->level.count || t->leaf.cells))
                return false;
        if (count > LOCAL_MOST) {
                local = LOCAL_LEAST + (count - LOCAL_LEAST) % OVERFLOW_BYTES;
                if (local > LOCAL_MOST)
                        local = LOCAL_LEAST;
                rest = put_overflow(t->pages, record + local, count - local);
        }
        cell = leaf_cell(&t->leaf, LEAF_HEAD, before + local + (rest ? 4 : 0));
        if (!cell) {
                flush_leaf(t);
                cell = leaf_cell(&t->leaf, LEAF_HEAD, before + local + (rest ? 4 : 0));
        }
        memcpy(cell, head, before);
        memcpy(cell + before, record, local);
        if (rest)
                put32(cell + before + local, rest);
        t->last = id;
        return true;
}

void sql_table_end(struct sql_table *t)
{
        const struct sql_tree tree = { .pages = t->pages,
                                       .root = t->root,
                                       .inner = TABLE_INNER,
                                       .children = TABLE_CHILDREN,
                                       .put_key = put_id };

        if (t->level.count) {
                flush_leaf(t);
                put_levels(&tree, &t->level);
                return;
        }
        leaf_finish(&t->leaf, TABLE_LEAF, LEAF_HEAD);
        page_change(t->pages, t->root, t->leaf.bytes, SQL_PAGE);
}

/* ---- indices ---- */

/* The entry at place KEY of the order, with its length in front. */
static size_t put_entry(const struct sql_tree *t, uint64_t key, uint8_t *to)
{
        const struct sql_index *x = t->index;
        uint32_t row = t->order[key];
        uint8_t *type = to + 2, *body = to + 2 + x->columns + 1;
        int64_t id = t->ids ? t->ids[row] : (int64_t)row + 1;
        unsigned word, bytes;

        for (uint32_t k = 0; k < x->columns; k++) {
                uint64_t value = x->keys[k][row];
                bool null = !value && x->nulls[k];

                bytes = number_bytes((int64_t)(value ^ 1ull << 63), &word);
                *type++ = (uint8_t)(null ? 0 : word);
                body = null ? body : put_number(body, (int64_t)(value ^ 1ull << 63), bytes);
        }
        bytes = number_bytes(id, &word);
        *type = (uint8_t)word;
        body = put_number(body, id, bytes);
        to[1] = (uint8_t)(x->columns + 2);
        to[0] = (uint8_t)(body - to - 2 + 1);
        return (size_t)(body - to);
}

/* Entries are on leaves, and one between each two of them. */
static void put_entries(const struct sql_tree *t, uint32_t count)
{
        struct sql_level level = { 0 };
        struct sql_leaf leaf;

        leaf_start(&leaf);
        for (uint32_t i = 0; i < count; i++) {
                uint8_t entry[1 + ENTRY_MOST + 8], *cell;
                size_t bytes = put_entry(t, i, entry);

                cell = leaf_cell(&leaf, LEAF_HEAD, bytes);
                if (cell) {
                        memcpy(cell, entry, bytes);
                        continue;
                }
                if (i + 1 == count) { /* nothing would be behind it: the one before is taken back
                                         for that, and it comes again */
                        leaf.cells--;
                        leaf.top += (uint32_t)put_entry(t, --i, entry);
                }
                leaf_finish(&leaf, INDEX_LEAF, LEAF_HEAD);
                level_add(&level, page_add(t->pages, leaf.bytes), i);
                leaf_start(&leaf);
        }
        leaf_finish(&leaf, INDEX_LEAF, LEAF_HEAD);
        if (level.count) {
                level_add(&level, page_add(t->pages, leaf.bytes), count);
                put_levels(t, &level);
        } else {
                page_change(t->pages, t->root, leaf.bytes, SQL_PAGE);
        }
}

void sql_index_make(struct sql_index *x, struct sql_pages *pages, const uint32_t *ids,
                    uint32_t count)
{
        uint32_t *order = arrange_start(count);
        const struct sql_tree tree = { .pages = pages,
                                       .root = x->root,
                                       .inner = INDEX_INNER,
                                       .children = INDEX_CHILDREN,
                                       .put_key = put_entry,
                                       .index = x,
                                       .order = order,
                                       .ids = ids };

        for (uint32_t k = x->columns; k; k--)
                arrange_by(order, count, x->keys[k - 1]);
        put_entries(&tree, count);
        free(order);
        for (uint32_t k = 0; k < x->columns; k++)
                free(x->keys[k]);
        *x = (struct sql_index){ 0 };
}
