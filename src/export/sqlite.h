/* SPDX-License-Identifier: MIT */
/*
 * sqlite.h -- a recording as an SQLite database.
 *
 * Room:   outside.  For `seep export --to sqlite` and `seep sql`.  docs/SQL.md
 *         describes every table and view.
 */
#ifndef SEEP_EXPORT_SQLITE_H
#define SEEP_EXPORT_SQLITE_H

#include <sqlite3.h>

#include "export/export.h"

#define DATABASE_SCHEMA 1               /* PRAGMA user_version: of tables and views; grows
                                         * when one is renamed or goes */
#define DATABASE_APPLICATION 0x73656570 /* PRAGMA application_id: "seep" */

/* The whole of IN's recording, as far as the selection has its stacks; the caller's to
 * sqlite3_close().  NULL: E. */
sqlite3 *sqlite_database(const struct export_input *in, struct err *e);

/* One without a row, as which queries are understood before there are any; NULL: none. */
sqlite3 *sqlite_empty(void);

/* What makes the tables; what, when all rows are there, makes the indices and the views. */
extern const char sqlite_tables[], sqlite_views[];

#endif
