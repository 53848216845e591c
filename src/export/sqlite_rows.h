/* SPDX-License-Identifier: MIT */
/*
 * sqlite_rows.h -- rows into a table of a database, value after value.
 *
 * Room:   outside, export/sqlite*.c only.
 *
 *     rows_begin(&rows, "thread");
 *     for each thread:
 *             rows_number(&rows, i), rows_text(&rows, name), ..., rows_next(&rows);
 *     rows_end(&rows);
 */
#ifndef SEEP_EXPORT_SQLITE_ROWS_H
#define SEEP_EXPORT_SQLITE_ROWS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct rows {
        sqlite3 *db;
        sqlite3_stmt *insert;
        int column;
        bool failed; /* then everything is passed over; sqlite3_errmsg(db) may tell why */
        struct str clean;
};

void rows_begin(struct rows *r, const char *table);
void rows_next(struct rows *r);
void rows_end(struct rows *r);

/* The next column.  Numbers above INT64_MAX are stored as they wrap. */
void rows_number(struct rows *r, uint64_t value);
void rows_some(struct rows *r, uint64_t value); /* NULL for 0 */
void rows_known(struct rows *r, uint64_t value, bool known); /* NULL when it is not */
void rows_real(struct rows *r, double value);
void rows_text(struct rows *r, const char *text); /* NULL for NULL; what is no UTF-8 becomes U+FFFD */
void rows_blob(struct rows *r, const void *bytes, size_t count);
void rows_null(struct rows *r);

#endif
