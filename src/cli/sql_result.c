/* SPDX-License-Identifier: MIT */
/*
 * sql_result.c -- what a query found, as a table for people, as CSV, or as JSON.
 *
 * Keeps:  CSV and JSON go out as rows come; a table must know its widths first, so it is kept in
 *         memory until it is long.
 */
#include "cli/sql_result.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/json.h"
#include "words/csv.h"
#include "words/text.h"

enum { SCHEMA_NAME = 12, SCHEMA_COLUMNS = 80, TABLE_TEXT = 12, TABLE_AT_ONCE = 4 << 20 };

/* ---- values ---- */

/* The shortest digits that are this number again. */
static void real_text(struct str *out, double value)
{
        char digits[40];

        for (int precision = 15; precision <= 17; precision++) {
                snprintf(digits, sizeof digits, "%.*g", precision, value);
                if (strtod(digits, NULL) == value)
                        break;
        }
        str_text(out, digits);
}

static void blob_text(struct str *out, const uint8_t *bytes, int count)
{
        for (int i = 0; i < count; i++)
                str_format(out, "%02x", bytes[i]);
}

/* As plain text; NULL is empty. */
static void value_text(struct str *out, sqlite3_stmt *row, int column)
{
        switch (sqlite3_column_type(row, column)) {
        case SQLITE_NULL:
                break;
        case SQLITE_FLOAT:
                real_text(out, sqlite3_column_double(row, column));
                break;
        case SQLITE_BLOB:
                blob_text(out, sqlite3_column_blob(row, column), sqlite3_column_bytes(row, column));
                break;
        default:
                str_text(out, (const char *)sqlite3_column_text(row, column));
        }
}

static void value_json(struct str *out, sqlite3_stmt *row, int column)
{
        struct str text = { 0 };
        int type = sqlite3_column_type(row, column);

        if (type == SQLITE_NULL ||
            (type == SQLITE_FLOAT && !isfinite(sqlite3_column_double(row, column)))) {
                str_text(out, "null");
                return;
        }
        value_text(&text, row, column);
        if (type == SQLITE_INTEGER || type == SQLITE_FLOAT)
                str_text(out, str_get(&text));
        else
                json_text(out, str_get(&text));
        str_free(&text);
}

/* ---- as rows come ---- */

static void csv_row(struct sql_result *r, sqlite3_stmt *row)
{
        struct str *out = &r->to->text, text = { 0 };

        for (int i = 0; i < sqlite3_column_count(row); i++) {
                str_clear(&text);
                value_text(&text, row, i);
                csv_text(out, str_get(&text));
        }
        csv_end(out);
        str_free(&text);
}

static void csv_head(struct sql_result *r, sqlite3_stmt *row)
{
        if (r->written)
                str_char(&r->to->text, '\n');
        for (int i = 0; !r->no_header && i < sqlite3_column_count(row); i++)
                csv_text(&r->to->text, sqlite3_column_name(row, i));
        if (!r->no_header)
                csv_end(&r->to->text);
}

static void json_row(struct sql_result *r, sqlite3_stmt *row, uint64_t number)
{
        struct str *out = &r->to->text;

        str_text(out, number ? ",\n " : "\n ");
        for (int i = 0; i < sqlite3_column_count(row); i++) {
                str_text(out, i ? ", " : "{");
                json_text(out, sqlite3_column_name(row, i));
                str_text(out, ": ");
                value_json(out, row, i);
        }
        str_char(out, '}');
}

static bool stream(struct sql_result *r, sqlite3_stmt *row)
{
        struct str *out = &r->to->text;
        bool wanted = true;
        int step;

        if (r->format == SQL_FORMAT_CSV)
                csv_head(r, row);
        else
                str_char(out, '[');
        for (uint64_t number = 0; (step = sqlite3_step(row)) == SQLITE_ROW && wanted; number++) {
                if (r->format == SQL_FORMAT_CSV)
                        csv_row(r, row);
                else
                        json_row(r, row, number);
                wanted = deliver_more(r->to);
        }
        if (r->format == SQL_FORMAT_JSON)
                str_text(out, "]\n");
        return step == SQLITE_DONE || !wanted;
}

/* ---- a table ---- */

struct table {
        struct str text; /* cells, each with a NUL behind it; the first row is the
                          * names if they are wanted */
        uint64_t cells;
        int columns;
        size_t *widths;
        bool *numbers; /* by column: all values are */
        bool headed;   /* the names are the first row of what is kept */
};

static void table_cell(struct table *t, const char *text)
{
        size_t start = t->text.length, width;
        size_t *widest = &t->widths[t->cells++ % (unsigned)t->columns];

        text_name(&t->text, text); /* nothing that a terminal would obey */
        width = text_columns(&t->text, start);
        *widest = width > *widest ? width : *widest;
        str_char(&t->text, 0);
}

static void table_row(struct table *t, sqlite3_stmt *row)
{
        struct str text = { 0 };

        for (int i = 0; i < t->columns; i++) {
                int type = sqlite3_column_type(row, i);

                str_clear(&text);
                value_text(&text, row, i);
                t->numbers[i] &= type == SQLITE_INTEGER || type == SQLITE_FLOAT ||
                                 type == SQLITE_NULL;
                table_cell(t, str_get(&text));
        }
        str_free(&text);
}

/* The column that loses a letter next: the widest of those with text that is not
 * short already; -1: none. */
static int table_widest(const struct table *t)
{
        int widest = -1;

        for (int i = 0; i < t->columns; i++)
                if (!t->numbers[i] && t->widths[i] > TABLE_TEXT &&
                    (widest < 0 || t->widths[i] >= t->widths[widest]))
                        widest = i;
        return widest;
}

/* Long texts give way, until the table fits or none of them is long. */
static void table_fit(struct table *t, size_t columns)
{
        size_t used = 2 * (size_t)(t->columns - 1);
        int widest;

        for (int i = 0; i < t->columns; i++)
                used += t->widths[i];
        for (; used > columns && (widest = table_widest(t)) >= 0; used--)
                t->widths[widest]--;
}

static void table_write(const struct table *t, struct sql_result *r)
{
        struct str *out = &r->to->text;
        const char *cell = str_get(&t->text);

        for (uint64_t i = 0; i < t->cells; i++, cell += strlen(cell) + 1) {
                int column = (int)(i % (unsigned)t->columns);
                bool head = t->headed && i < (unsigned)t->columns, last = column == t->columns - 1;
                size_t start, room = t->widths[column];

                if (head && column == 0)
                        text_color(out, r->color, TEXT_BOLD);
                if (t->numbers[column]) {
                        struct str bare = { 0 };

                        str_text(&bare, cell);
                        for (size_t used = text_columns(&bare, 0); used < room; used++)
                                str_char(out, ' ');
                        str_free(&bare);
                }
                start = out->length;
                str_text(out, cell);
                if (!t->numbers[column])
                        text_cut(out, start, room);
                if (!last && !t->numbers[column])
                        text_pad(out, start, room);
                if (last && head)
                        text_plain(out, r->color);
                str_text(out, last ? "\n" : "  ");
        }
}

/* What is kept goes out; widths stay, for what comes behind it.  false: there is no use in more. */
static bool table_send(struct table *t, struct sql_result *r)
{
        if (r->columns)
                table_fit(t, r->columns);
        table_write(t, r);
        str_clear(&t->text);
        t->cells = 0;
        t->headed = false;
        return deliver_more(r->to);
}

static bool tabulate(struct sql_result *r, sqlite3_stmt *row)
{
        struct table t = { .columns = sqlite3_column_count(row), .headed = !r->no_header };
        bool wanted = true;
        int step;

        t.widths = heap_zero((size_t)t.columns, sizeof *t.widths);
        t.numbers = heap_zero((size_t)t.columns, sizeof *t.numbers);
        for (int i = 0; i < t.columns; i++) {
                t.numbers[i] = true;
                if (!r->no_header)
                        table_cell(&t, sqlite3_column_name(row, i));
        }
        if (r->written)
                str_char(&r->to->text, '\n');
        while ((step = sqlite3_step(row)) == SQLITE_ROW && wanted) {
                table_row(&t, row);
                wanted = t.text.length < TABLE_AT_ONCE || table_send(&t, r);
        }
        if (wanted)
                table_send(&t, r);
        str_free(&t.text);
        free(t.widths);
        free(t.numbers);
        return step == SQLITE_DONE || !wanted;
}

bool sql_result_write(struct sql_result *r, sqlite3_stmt *statement)
{
        bool good;

        if (!sqlite3_column_count(statement))
                return sqlite3_step(statement) == SQLITE_DONE;
        good = r->format == SQL_FORMAT_TABLE ? tabulate(r, statement) : stream(r, statement);
        r->written++;
        deliver_more(r->to);
        return good;
}

/* ---- what there is ---- */

static void schema_entry(sqlite3 *db, const char *name, struct str *out)
{
        sqlite3_stmt *columns = NULL;
        size_t start = out->length;
        bool first = true;

        str_format(out, "  %-*s", SCHEMA_NAME, name);
        sqlite3_prepare_v2(db, "SELECT name FROM pragma_table_info(?1)", -1, &columns, NULL);
        sqlite3_bind_text(columns, 1, name, -1, SQLITE_STATIC);
        while (sqlite3_step(columns) == SQLITE_ROW) {
                const char *column = (const char *)sqlite3_column_text(columns, 0);

                if (!first && out->length - start + strlen(column) + 2 > SCHEMA_COLUMNS - 1) {
                        str_text(out, ",\n");
                        start = out->length;
                        str_format(out, "  %*s", SCHEMA_NAME, "");
                } else if (!first)
                        str_text(out, ", ");
                str_text(out, column);
                first = false;
        }
        sqlite3_finalize(columns);
        str_char(out, '\n');
}

void sql_schema(sqlite3 *db, struct str *out)
{
        static const char *const kinds[] = { "table", "view" };

        for (int i = 0; i < 2; i++) {
                sqlite3_stmt *names = NULL;

                str_format(out, "%s%ss:\n", i ? "\n" : "", kinds[i]);
                sqlite3_prepare_v2(db,
                                   "SELECT name FROM sqlite_schema WHERE type = ?1 ORDER BY rowid",
                                   -1, &names, NULL);
                sqlite3_bind_text(names, 1, kinds[i], -1, SQLITE_STATIC);
                while (sqlite3_step(names) == SQLITE_ROW)
                        schema_entry(db, (const char *)sqlite3_column_text(names, 0), out);
                sqlite3_finalize(names);
        }
}
