/* SPDX-License-Identifier: MIT */
/*
 * sqlite_parts.h -- what the files of sqlite.h share while a database is made.
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
#include "export/sqlite_pages.h"
#include "export/strings.h"
#include "query/calltree.h"
#include "query/growth.h"
#include "query/leaks.h"

/* ---- rows into a table of a database, value after value ----
 *
 *     if (!rows_begin(&rows, "thread"))
 *             return;
 *     for each thread:
 *             rows_number(&rows, i), rows_text(&rows, name), ..., rows_next(&rows);
 *     rows_end(&rows);
 */

enum { SQL_COLUMNS = 32, SQL_INDICES = 4 }; /* of a table at most */

/* SQLite makes the tables, and we the rows (sqlite_pages.h). */
struct sql_rows {
        sqlite3 *db;             /* with the tables, which are empty */
        struct sql_pages *pages; /* of the file */
        const char *wanted;      /* as in export_input */
        struct sql_table table;
        struct sql_index indices[SQL_INDICES];
        uint8_t keys[SQL_INDICES][SQL_KEYS]; /* of each index: its columns */
        uint32_t index_count, columns;
        bool has_id;   /* the first column is the number of the row */
        uint32_t *ids; /* of rows with indices */
        uint32_t count;
        /* The row that is made. */
        uint32_t at;                       /* columns that are there */
        struct str record;                 /* room for types, then the values */
        uint8_t types[SQL_COLUMNS * 9];
        uint32_t type_bytes;
        int64_t numbers[SQL_COLUMNS];
        bool null[SQL_COLUMNS];
        const char *trouble; /* then everything is passed over */
};

/* False: nobody asks for this table, and it stays empty. */
bool rows_begin(struct sql_rows *r, const char *table);
bool rows_wanted(const struct sql_rows *r, const char *table);
void rows_next(struct sql_rows *r);
void rows_end(struct sql_rows *r);

/* The next column; an id in the first one is larger than that of the row before.  Numbers above
 * INT64_MAX are stored as they wrap. */
void rows_number(struct sql_rows *r, uint64_t value);
void rows_some(struct sql_rows *r, uint64_t value); /* NULL for 0 */
void rows_known(struct sql_rows *r, uint64_t value, bool known); /* NULL when it is not */
void rows_real(struct sql_rows *r, double value);
/* NULL for NULL; what is no UTF-8 becomes U+FFFD. */
void rows_text(struct sql_rows *r, const char *text);
void rows_blob(struct sql_rows *r, const void *bytes, size_t count);
void rows_null(struct sql_rows *r);

/* ---- one database ---- */

/* What is needed while a database is made. */
struct sqlite_parts {
        const struct profile *p;
        struct symbols *symbols;
        /* whole: the profile's own tree, without rows. */
        const struct selection *sel, *resources, *whole;
        const struct filter *filter; /* whose threads are shown; NULL: all */
        struct sql_rows rows;
        uint8_t *chosen;      /* by site: part of the selection */
        uint8_t *has_block;   /* by block: it is a row */
        bool cuts;            /* some stacks of sel may have an outer end that is not known */
        struct calltree tree; /* by place: nodes are stacks by their ids, the id of a
                               * frame is its number and 1 */
        uint32_t *ends, *resource_ends, *whole_ends; /* by node of sel, of resources, of
                                                      * whole: id of the innermost
                                                      * frame's stack; 0 not needed */
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

/* The rows of both parts, MAPPED behind HEAP, in the order of their sites; to be freed. */
uint32_t *sqlite_by_site(const struct select_part *heap, const struct select_part *mapped);

/* sqlite_functions.c: what functions did; when stacks are there. */
void sqlite_put_functions(struct sqlite_parts *m);

/* sqlite_types.c: of what type blocks are, and all blocks of a site. */
void sqlite_put_types(struct sqlite_parts *m);

/* sqlite_heap.c: what is alive, and what holds it; invalid frees; resources. */
void sqlite_put_heap(struct sqlite_parts *m);
void sqlite_put_others(struct sqlite_parts *m);

#endif
