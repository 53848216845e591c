/* SPDX-License-Identifier: MIT */
/* sql_result.h -- the result of a query as text, CSV, or JSON. */
#ifndef SEEP_CLI_SQL_RESULT_H
#define SEEP_CLI_SQL_RESULT_H

#include <sqlite3.h>
#include <stdbool.h>

#include "cli/deliver.h"

enum sql_format { SQL_FORMAT_TABLE, SQL_FORMAT_CSV, SQL_FORMAT_JSON };

struct sql_result {
        enum sql_format format;
        bool no_header;
        int color;
        uint32_t columns; /* of the terminal, to which tables are fitted; 0: whole texts */
        uint32_t written; /* results so far */
        struct deliver_stream *to;
};

/* Run STATEMENT and write all its rows.  false: sqlite3_errmsg() tells why not. */
bool sql_result_write(struct sql_result *r, sqlite3_stmt *statement);

/* Append all tables and views of DB with their columns, in lines of at most 80. */
void sql_schema(sqlite3 *db, struct str *out);

#endif
