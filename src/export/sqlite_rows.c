/* SPDX-License-Identifier: MIT */
/*
 * sqlite_rows.c -- rows into a table of a database, value after value.
 *
 * Room:   outside.
 */
#include "export/sqlite_rows.h"

#include <string.h>

#include "base/utf8.h"

static void took(struct rows *r, int result)
{
        r->failed |= result != SQLITE_OK;
}

static int columns_of(sqlite3 *db, const char *table)
{
        char *sql = sqlite3_mprintf("SELECT * FROM \"%w\"", table);
        sqlite3_stmt *all = NULL;
        int count = sqlite3_prepare_v2(db, sql, -1, &all, NULL) == SQLITE_OK ? sqlite3_column_count(all) : 0;

        sqlite3_finalize(all);
        sqlite3_free(sql);
        return count;
}

void rows_begin(struct rows *r, const char *table)
{
        struct str sql = { 0 };
        int columns = columns_of(r->db, table);

        str_format(&sql, "INSERT INTO \"%s\" VALUES(", table);
        for (int i = 0; i < columns; i++)
                str_text(&sql, i ? ",?" : "?");
        str_char(&sql, ')');
        r->column = 0;
        took(r, sqlite3_prepare_v2(r->db, str_get(&sql), -1, &r->insert, NULL));
        str_free(&sql);
}

void rows_next(struct rows *r)
{
        r->failed |= sqlite3_step(r->insert) != SQLITE_DONE;
        sqlite3_reset(r->insert);
        r->column = 0;
}

void rows_end(struct rows *r)
{
        sqlite3_finalize(r->insert);
        str_free(&r->clean);
        r->insert = NULL;
}

void rows_number(struct rows *r, uint64_t value)
{
        took(r, sqlite3_bind_int64(r->insert, ++r->column, (sqlite3_int64)value));
}

void rows_some(struct rows *r, uint64_t value)
{
        rows_known(r, value, value != 0);
}

void rows_known(struct rows *r, uint64_t value, bool known)
{
        if (known)
                rows_number(r, value);
        else
                rows_null(r);
}

void rows_real(struct rows *r, double value)
{
        took(r, sqlite3_bind_double(r->insert, ++r->column, value));
}

void rows_null(struct rows *r)
{
        took(r, sqlite3_bind_null(r->insert, ++r->column));
}

void rows_blob(struct rows *r, const void *bytes, size_t count)
{
        took(r, sqlite3_bind_blob64(r->insert, ++r->column, bytes, count, SQLITE_TRANSIENT));
}

void rows_text(struct rows *r, const char *text)
{
        if (!text) {
                rows_null(r);
                return;
        }
        str_clear(&r->clean);
        for (unsigned bytes; *text; text += bytes ? bytes : 1) {
                bytes = utf8_bytes(text);
                str_bytes(&r->clean, bytes ? text : UTF8_WRONG, bytes ? bytes : strlen(UTF8_WRONG));
        }
        took(r, sqlite3_bind_text64(r->insert, ++r->column, str_get(&r->clean), r->clean.length, SQLITE_TRANSIENT, SQLITE_UTF8));
}
