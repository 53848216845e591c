/* SPDX-License-Identifier: MIT */
/*
 * sqlite_parts.h -- what the parts of a database share while it is made.
 *
 * Room:   outside, export/sqlite*.c only.
 */
#ifndef SEEP_EXPORT_SQLITE_PARTS_H
#define SEEP_EXPORT_SQLITE_PARTS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "export/sqlite.h"
#include "export/strings.h"
#include "query/calltree.h"
#include "query/growth.h"
#include "query/leaks.h"

/* ---- rows into a table of a database, value after value ----
 *
 *     rows_begin(&rows, "thread");
 *     for each thread:
 *             rows_number(&rows, i), rows_text(&rows, name), ..., rows_next(&rows);
 *     rows_end(&rows);
 */

struct sql_value {
        int type; /* SQLITE_INTEGER and so on */
        union {
                sqlite3_int64 number;
                double real;
                size_t at; /* in texts */
        };
        size_t bytes;
};

/* Many rows go in with one statement: a statement for each costs twice as much. */
struct sql_rows {
        sqlite3 *db;
        sqlite3_stmt *one, *many; /* of one row, of ROWS_AT_ONCE */
        struct sql_value *values; /* that are not stored yet */
        struct str texts;
        uint32_t count, columns;
        bool failed; /* then everything is passed over; sqlite3_errmsg(db) may tell why */
};

void rows_begin(struct sql_rows *r, const char *table);
void rows_next(struct sql_rows *r);
void rows_end(struct sql_rows *r);

/* The next column.  Numbers above INT64_MAX are stored as they wrap. */
void rows_number(struct sql_rows *r, uint64_t value);
void rows_some(struct sql_rows *r, uint64_t value); /* NULL for 0 */
void rows_known(struct sql_rows *r, uint64_t value, bool known); /* NULL when it is not */
void rows_real(struct sql_rows *r, double value);
void rows_text(struct sql_rows *r, const char *text); /* NULL for NULL; what is no UTF-8 becomes U+FFFD */
void rows_blob(struct sql_rows *r, const void *bytes, size_t count);
void rows_null(struct sql_rows *r);

/* ---- one database ---- */

/* What is needed while a database is made. */
struct sqlite_parts {
        const struct profile *p;
        struct symbols *symbols;
        const struct selection *sel, *resources, *whole; /* whole: the profile's own tree, without rows */
        const struct filter *filter; /* whose threads are shown; NULL: all */
        struct sql_rows rows;
        uint8_t *chosen;      /* by site: part of the selection */
        uint8_t *has_block;   /* by block: it is a row */
        struct calltree tree; /* by place: nodes are stacks by their ids, the id of a frame is its number and 1 */
        uint32_t *ends, *resource_ends, *whole_ends; /* by node of sel, of resources, of whole: id of the innermost frame's stack; 0 not needed */
        struct strings functions; /* by name */
        uint32_t *names;          /* by frame: number in functions */
        struct leaks leaks;
        struct wrappers wrappers; /* the usual ones */
        struct growth *growth; /* by site */
};

/* sqlite_course.c: the recording as a whole, and over time. */
void sqlite_put_meta(struct sqlite_parts *m);
void sqlite_put_course(struct sqlite_parts *m);

/* sqlite_stacks.c: frames, stacks, and what each of them did. */
void sqlite_put_stacks(struct sqlite_parts *m);
void sqlite_put_sites(struct sqlite_parts *m);

/* sqlite_functions.c: what functions did; when stacks are there. */
void sqlite_put_functions(struct sqlite_parts *m);

/* sqlite_heap.c: what is alive, and what holds it; wrong releases; resources. */
void sqlite_put_heap(struct sqlite_parts *m);
void sqlite_put_others(struct sqlite_parts *m);

#endif
