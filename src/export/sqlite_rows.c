/* SPDX-License-Identifier: MIT */
/* sqlite_rows.c -- rows written into a table of a database, value by value. */
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/utf8.h"
#include "export/sqlite_parts.h"

enum {
        HEAD_MOST = SQL_COLUMNS * 9 + 9
}; /* bytes in front of the values: how many, and the types */

/* ---- what SQLite made ---- */

/* Columns of a table, or of an index: the first of them into COLUMNS, as far as there is room. *ID:
 * the first is the number of the row. */
static uint32_t read_columns(struct sql_rows *r, const char *table, bool *id)
{
        char *sql = sqlite3_mprintf(
                "SELECT type = 'INTEGER' AND pk = 1 FROM pragma_table_info(%Q) ORDER BY cid",
                table);
        sqlite3_stmt *rows = NULL;
        uint32_t count = 0;

        *id = false;
        if (sqlite3_prepare_v2(r->db, sql, -1, &rows, NULL) == SQLITE_OK)
                for (; sqlite3_step(rows) == SQLITE_ROW; count++)
                        *id |= !count && sqlite3_column_int(rows, 0);
        sqlite3_finalize(rows);
        sqlite3_free(sql);
        return count;
}

/* A column of an index of the table: number NUMBER in it, column COLUMN of the table. */
static void read_key(struct sql_rows *r, uint32_t root, uint32_t number, uint32_t column)
{
        struct sql_index *x = r->index_count ? &r->indices[r->index_count - 1] : NULL;

        if (!x || x->root != root)
                x = r->index_count < SQL_INDICES ? &r->indices[r->index_count++] : NULL;
        if (!x || number >= SQL_KEYS || column >= SQL_COLUMNS) {
                r->trouble = "an index is not known";
                return;
        }
        x->root = root;
        x->columns = number + 1;
        r->keys[x - r->indices][number] = (uint8_t)column;
}

static uint32_t read_roots(struct sql_rows *r, const char *table)
{
        char *sql = sqlite3_mprintf("SELECT m.rootpage, i.seqno, i.cid FROM sqlite_master m LEFT "
                                    "JOIN pragma_index_info(m.name) i "
                                    "WHERE m.tbl_name = %Q AND m.type IN ('table', 'index') ORDER "
                                    "BY m.type DESC, m.name, i.seqno",
                                    table);
        sqlite3_stmt *rows = NULL;
        uint32_t root = 0;

        if (sqlite3_prepare_v2(r->db, sql, -1, &rows, NULL) == SQLITE_OK)
                while (sqlite3_step(rows) == SQLITE_ROW) {
                        if (sqlite3_column_type(rows, 1) == SQLITE_NULL)
                                root = (uint32_t)sqlite3_column_int(rows, 0);
                        else
                                read_key(r, (uint32_t)sqlite3_column_int(rows, 0),
                                         (uint32_t)sqlite3_column_int(rows, 1),
                                         (uint32_t)sqlite3_column_int(rows, 2));
                }
        sqlite3_finalize(rows);
        sqlite3_free(sql);
        return root;
}

/* ---- rows ---- */

static void start_row(struct sql_rows *r)
{
        r->at = r->type_bytes = 0;
        r->record.length = HEAD_MOST;
}

bool rows_wanted(const struct sql_rows *r, const char *table)
{
        size_t length = strlen(table);
        const char *at = r->wanted;

        while (at && (at = strstr(at, table)) && (at[-1] != ' ' || at[length] != ' '))
                at += length;
        return !r->wanted || at;
}

bool rows_begin(struct sql_rows *r, const char *table)
{
        uint32_t root;

        if (!rows_wanted(r, table))
                return false;
        *r = (struct sql_rows){ .db = r->db, .pages = r->pages, .wanted = r->wanted,
                                .trouble = r->trouble };
        r->columns = read_columns(r, table, &r->has_id);
        root = read_roots(r, table);
        if (!root || r->columns > SQL_COLUMNS)
                r->trouble = "a table is not there";
        sql_table_start(&r->table, r->pages, root);
        str_reserve(&r->record, HEAD_MOST + SQL_COLUMNS * 8);
        start_row(r);
        return true;
}

/* Ids are kept from the first on that is not one more than that before. */
static void keep_id(struct sql_rows *r, uint64_t id)
{
        if (!r->ids && id == r->count + 1ull)
                return;
        for (uint32_t i = r->ids ? r->count : 0; i <= r->count; i++) {
                r->ids = heap_next(r->ids, i, sizeof *r->ids);
                r->ids[i] = i < r->count ? i + 1 : (uint32_t)id;
        }
}

/* What indices will be made of. */
static void keep_keys(struct sql_rows *r, uint64_t id)
{
        keep_id(r, id);
        for (uint32_t i = 0; i < r->index_count; i++)
                for (uint32_t k = 0; k < r->indices[i].columns; k++) {
                        struct sql_index *x = &r->indices[i];
                        uint32_t column = r->keys[i][k];

                        x->keys[k] = heap_next(x->keys[k], r->count, sizeof *x->keys[k]);
                        x->nulls[k] |= r->null[column];
                        x->keys[k][r->count] = r->null[column]
                                                       ? 0
                                                       : (uint64_t)r->numbers[column] ^ 1ull << 63;
                }
}

void rows_next(struct sql_rows *r)
{
        uint64_t id = r->has_id ? (uint64_t)r->numbers[0] : r->count + 1ull;
        uint8_t head[9];
        size_t size = r->type_bytes + 1u, bytes;
        char *start;

        if (size > 0x7f) /* its own length is part of it */
                size++;
        bytes = (size_t)(record_varint(head, size) - head);
        start = r->record.data + HEAD_MOST - size;
        memcpy(start, head, bytes);
        memcpy(start + bytes, r->types, r->type_bytes);
        if (r->at != r->columns)
                r->trouble = "a row has not as many values as its table";
        else if (!sql_table_row(&r->table, id, start, size + r->record.length - HEAD_MOST))
                r->trouble = "rows are not in the order of their numbers";
        if (r->index_count)
                keep_keys(r, id);
        r->count++;
        start_row(r);
}

void rows_end(struct sql_rows *r)
{
        sql_table_end(&r->table);
        for (uint32_t i = 0; i < r->index_count; i++)
                sql_index_make(&r->indices[i], r->pages, r->ids, r->count);
        free(r->ids);
        r->ids = NULL;
        r->index_count = 0;
        str_free(&r->record);
        if (r->pages->failed && !r->trouble)
                r->trouble = r->pages->fd < 0 ? "no memory for it"
                                              : "no room for it (TMPDIR names another place)";
}

/* ---- values ---- */

static void add_type(struct sql_rows *r, uint64_t type)
{
        r->type_bytes = (uint32_t)(record_varint(r->types + r->type_bytes, type) - r->types);
        r->null[r->at++] = !type;
}

static void add_bytes(struct sql_rows *r, const void *bytes, size_t count)
{
        str_bytes(&r->record, bytes, count);
        str_reserve(&r->record, SQL_COLUMNS * 8);
}

void rows_number(struct sql_rows *r, uint64_t value)
{
        r->numbers[r->at] = (int64_t)value;
        if (!r->at && r->has_id)
                add_type(r, 0); /* it is where the row is */
        else
                add_type(r, record_number(&r->record, (int64_t)value));
}

void rows_some(struct sql_rows *r, uint64_t value)
{
        rows_known(r, value, value != 0);
}

void rows_known(struct sql_rows *r, uint64_t value, bool known)
{
        if (known)
                rows_number(r, value);
        else
                rows_null(r);
}

void rows_real(struct sql_rows *r, double value)
{
        uint64_t bits;
        uint8_t bytes[8];

        memcpy(&bits, &value, sizeof bits);
        for (unsigned i = 0; i < sizeof bytes; i++)
                bytes[i] = (uint8_t)(bits >> (56 - 8 * i));
        add_bytes(r, bytes, sizeof bytes);
        add_type(r, 7);
}

void rows_null(struct sql_rows *r)
{
        add_type(r, 0);
}

void rows_blob(struct sql_rows *r, const void *bytes, size_t count)
{
        add_bytes(r, bytes, count);
        add_type(r, 12 + 2 * (uint64_t)count);
}

void rows_text(struct sql_rows *r, const char *text)
{
        size_t before = r->record.length;

        if (!text) {
                rows_null(r);
                return;
        }
        while (*text) {
                size_t bytes = 0;

                while (text[bytes] > 0) /* ASCII */
                        bytes++;
                if (!bytes)
                        bytes = utf8_bytes(text);
                str_bytes(&r->record, bytes ? text : UTF8_WRONG,
                          bytes ? bytes : strlen(UTF8_WRONG));
                text += bytes ? bytes : 1;
        }
        str_reserve(&r->record, SQL_COLUMNS * 8);
        add_type(r, 13 + 2 * (uint64_t)(r->record.length - before));
}
