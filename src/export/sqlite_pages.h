/* SPDX-License-Identifier: MIT */
/*
 * sqlite_pages.h -- rows as the pages of an SQLite file.
 *
 * Room:   outside, export/sqlite*.c only.  The file begins as SQLite made it, with tables and
 *         indices that are empty (sqlite_schema.c).
 * Keeps:  what https://www.sqlite.org/fileformat2.html says.  Rows come in the order of their ids,
 *         so each page is written once, from the leaves to the root; only roots, which have their
 *         numbers already, are put where SQLite wants them.
 * Cost:   0.1 us for a row of seven numbers, where SQLite takes 0.9; eight bytes for each row and
 *         index while a table is filled, and eight more while an index is made.
 */
#ifndef SEEP_EXPORT_SQLITE_PAGES_H
#define SEEP_EXPORT_SQLITE_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define SQL_PAGE 4096u /* bytes of a page; all of them are used */

/* A file that grows. */
struct sql_pages {
        unsigned char *data; /* in memory: by sqlite3_malloc() */
        uint64_t room;
        int fd;          /* or a file; -1: in memory */
        struct str late; /* pages at the end that are not in the file yet */
        uint32_t count;
        bool failed; /* no room for it: nothing more is written */
};

/* Begin with IMAGE, which SQLite made; the pages are in memory, or in the empty file FD. */
void sql_pages_start(struct sql_pages *p, const unsigned char *image, uint64_t bytes, int fd);

/* All is there: the head of the file says how large it is.  In memory the pages are the caller's to
 * sqlite3_free(). */
void sql_pages_end(struct sql_pages *p);

/* Pages below a level, and what is between them: the last row of each, or the entry behind it. */
struct sql_level {
        struct sql_child {
                uint32_t page;
                uint64_t key;
        } * at;
        uint32_t count;
};

/* A table that is filled. */
struct sql_table {
        struct sql_pages *pages;
        uint32_t root;
        struct sql_level level;
        uint64_t last; /* id of the last row */
        struct sql_leaf {
                uint8_t bytes[SQL_PAGE];
                uint32_t cells, top;
        } leaf;
};

void sql_table_start(struct sql_table *t, struct sql_pages *pages, uint32_t root);

/* The row ID, larger than the one before, with the COUNT bytes of its record.  false: it is not
 * larger. */
bool sql_table_row(struct sql_table *t, uint64_t id, const char *record, size_t count);
void sql_table_end(struct sql_table *t);

/* ---- indices ---- */

#define SQL_KEYS 2u /* columns of an index at most */

/* What a row has in the columns of an index, in an order that numbers without a sign have. */
struct sql_index {
        uint32_t root, columns;
        uint64_t *keys[SQL_KEYS]; /* by row; ids are those of the rows */
        bool nulls[SQL_KEYS];     /* 0 is NULL */
};

/* Make the index of COUNT rows with these IDS, smallest first (NULL: 1, 2 ...).  The keys are gone
 * afterwards. */
void sql_index_make(struct sql_index *x, struct sql_pages *pages, const uint32_t *ids,
                    uint32_t count);

/* ---- values in records ---- */

/* Append VALUE to BODY, which has room for eight bytes; its type is returned. */
unsigned record_number(struct str *body, int64_t value);

/* NUMBER as SQLite writes numbers of lengths and ids, at TO; where it ends. */
uint8_t *record_long_varint(uint8_t *to, uint64_t number);

static inline uint8_t *record_varint(uint8_t *to, uint64_t number)
{
        if (number > 0x7f)
                return record_long_varint(to, number);
        *to = (uint8_t)number;
        return to + 1;
}

#endif
