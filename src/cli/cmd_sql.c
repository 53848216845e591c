/* SPDX-License-Identifier: MIT */
/*
 * cmd_sql.c -- `seep sql [FILE] QUERY`: a recording queried with SQL.
 *
 * Keeps:  the database is made in memory for one command and is only read: no
 *         statement reaches another file.
 * Cost:   statements are understood twice: with empty tables first, which tells the ones that they
 *         read.  Only those get their rows.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/io.h"
#include "cli/command.h"
#include "cli/deliver.h"
#include "cli/load.h"
#include "cli/message.h"
#include "cli/names.h"
#include "cli/newest.h"
#include "cli/option.h"
#include "cli/pager.h"
#include "cli/progress.h"
#include "cli/sql_result.h"
#include "cli/suggest.h"
#include "export/sqlite.h"

#define SQL_OPTIONS(X)                                                                 \
        X(SQL_HEAD_FORM, NULL, 0, NULL, "format of the result:")                       \
        X(SQL_CSV, "csv", 0, NULL, "CSV")                                              \
        X(SQL_JSON, "json", 0, NULL, "JSON: a list of objects for each query")         \
        X(SQL_NO_HEADER, "no-header", 0, NULL, "no line with column names")            \
        X(SQL_SCHEMA, "schema", 0, NULL,                                               \
          "list tables and views with their columns (default when there is no query)") \
        NAMES_OPTIONS(X, SQL)                                                          \
        X(SQL_HEAD_OUTPUT, NULL, 0, NULL, "output:")                                   \
        FILE_OPTIONS(X, SQL)                                                           \
        COLOR_OPTION(X, SQL)                                                           \
        X(SQL_NO_PAGER, "no-pager", 0, NULL, "do not use a pager")                     \
        X(SQL_QUIET, "quiet", 'q', NULL, "no warnings")                                \
        LAST_OPTIONS(X, SQL)

enum { SQL_OPTIONS(OPTION_ENUM) SQL_COUNT };
const struct option_entry sql_options[] = { SQL_OPTIONS(OPTION_ENTRY) OPTION_END };

/* What was asked for. */
struct sql {
        char *file;
        struct str query;
        bool schema, quiet;
        enum pager_color color;
        struct deliver to;
        struct names names;
        struct sql_result result;

        sqlite3 *db;
        sqlite3_stmt **statements;
        size_t statement_count;
        struct str tables; /* that statements read, as export_input has them */
        bool refused; /* a statement would have done more than read */
};

static int say_help(void)
{
        return command_help(COMMAND_sql,
                "Query a recording with SQL (SQLite's). FILE is a recording (the newest *.seep\n"
                "here); PID is a process that is being recorded, which is searched for leaks now.\n"
                "QUERY may be several statements separated by ';'; - or no QUERY reads them from\n"
                "stdin. On a terminal, no QUERY lists the tables and views.\n",
                "\nexamples:\n"
                "  seep sql 'SELECT * FROM top LIMIT 10'\n"
                "  seep sql run.seep 'SELECT function, bytes FROM leaks'\n"
                "  seep sql --csv run.seep 'SELECT ms, live_bytes FROM timeline' > heap.csv\n"
                "  seep sql run.seep < questions.sql\n"
                "\nExit status: 0 success, 2 usage or SQL error, 3 the process is not\n"
                "recorded, 4 the file cannot be read.\n");
}

/* ---- reading only ---- */

static bool is_harmless_pragma(const char *name, const char *value)
{
        static const char *const about[] = { "table_info", "table_xinfo", "table_list",
                                             "index_list", "index_info", "index_xinfo" };

        for (size_t i = 0; i < sizeof about / sizeof *about; i++)
                if (sqlite3_stricmp(name, about[i]) == 0)
                        return true;
        return !value && (sqlite3_stricmp(name, "user_version") == 0 ||
                          sqlite3_stricmp(name, "application_id") == 0);
}

/* No statement changes anything, opens another file or loads code. */
static int authorize(void *context, int action, const char *first, const char *second,
                     const char *database, const char *view)
{
        struct sql *q = context;
        bool good = action == SQLITE_SELECT || action == SQLITE_READ ||
                    action == SQLITE_RECURSIVE ||
                    (action == SQLITE_FUNCTION && sqlite3_stricmp(second, "load_extension") != 0) ||
                    (action == SQLITE_PRAGMA && is_harmless_pragma(first, second));

        (void)database;
        (void)view;
        if (action == SQLITE_READ)
                str_format(&q->tables, "%s%s ", q->tables.length ? "" : " ", first);
        q->refused |= !good;
        return good ? SQLITE_OK : SQLITE_DENY;
}

/* Functions that are tables are made when they are first used, which is no reading. */
#define SQL_MAKE_FUNCTIONS                                                            \
        "SELECT 1 FROM json_each('[]'), json_tree('[]'), pragma_table_info('meta'), " \
        "pragma_table_xinfo('meta'), pragma_table_list, "                             \
        "pragma_index_list('meta'), pragma_index_info('stack_parent')"

static bool close_in(struct sql *q)
{
        return q->db && sqlite3_exec(q->db, SQL_MAKE_FUNCTIONS, NULL, NULL, NULL) == SQLITE_OK &&
               sqlite3_exec(q->db, "PRAGMA query_only = 1; PRAGMA trusted_schema = 0", NULL, NULL,
                            NULL) == SQLITE_OK &&
               sqlite3_db_config(q->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL) == SQLITE_OK &&
               sqlite3_set_authorizer(q->db, authorize, q) == SQLITE_OK;
}

/* ---- wrong SQL ---- */

/* The line of SQL that byte AT is in, with a mark below. */
static void show_place(const char *sql, size_t at)
{
        size_t start = at, length;
        struct str blank = { 0 };

        while (start && sql[start - 1] != '\n')
                start--;
        length = strcspn(sql + start, "\n");
        for (size_t i = start; i < at; i++)
                if (((unsigned char)sql[i] & 0xc0) != 0x80)
                        str_char(&blank, sql[i] == '\t' ? '\t' : ' ');
        message("  %.*s", (int)length, sql + start);
        message("  %s^", str_get(&blank));
        str_free(&blank);
}

static void suggest_table(struct sql *q, const char *typed)
{
        const char *words[64];
        sqlite3_stmt *names = NULL;
        size_t count = 0;
        const char *near;

        sqlite3_set_authorizer(q->db, NULL, NULL);
        sqlite3_prepare_v2(q->db, "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')",
                           -1, &names, NULL);
        while (count < sizeof words / sizeof *words && sqlite3_step(names) == SQLITE_ROW)
                words[count++] = heap_text((const char *)sqlite3_column_text(names, 0));
        sqlite3_finalize(names);
        near = suggest_nearest(typed, words, count);
        if (near)
                message("did you mean '%s'?", near);
        else
                message("'seep sql --schema' lists tables and views");
        while (count)
                free((char *)words[--count]);
}

/* What is wrong in STATEMENT, which is a part of the query. */
static int say_wrong(struct sql *q, const char *statement)
{
        static const char no_table[] = "no such table: ";
        char *text = heap_text(sqlite3_errmsg(q->db));
        int at = -1;

#if SQLITE_VERSION_NUMBER >= 3038000
        at = sqlite3_error_offset(q->db);
#endif
        if (q->refused) {
                message("the recording is read-only: no statement may change, attach or load "
                        "anything ('seep export --to sqlite' writes a database that you can "
                        "change)");
                if (statement)
                        show_place(str_get(&q->query), (size_t)(statement - str_get(&q->query)) +
                                                               strspn(statement, " \t\r\n"));
        } else {
                message("SQL: %s", text);
                if (statement && at >= 0)
                        show_place(str_get(&q->query),
                                   (size_t)(statement - str_get(&q->query)) + (size_t)at);
                if (strncmp(text, no_table, sizeof no_table - 1) == 0)
                        suggest_table(q, text + sizeof no_table - 1);
        }
        free(text);
        return ERR_EXIT_USAGE;
}

/* ---- the query ---- */

/* All statements are understood before the first is run. */
static int prepare(struct sql *q)
{
        const char *rest = str_get(&q->query);

        while (*rest) {
                sqlite3_stmt *statement = NULL;
                const char *begin = rest;

                if (sqlite3_prepare_v2(q->db, begin, -1, &statement, &rest) != SQLITE_OK)
                        return say_wrong(q, begin);
                if (!statement) /* a comment, or nothing */
                        continue;
                q->refused |= !sqlite3_stmt_readonly(statement);
                q->statements = heap_grow(q->statements, q->statement_count + 1,
                                          sizeof *q->statements);
                q->statements[q->statement_count++] = statement;
                if (q->refused)
                        return say_wrong(q, begin);
                if (sqlite3_bind_parameter_count(statement))
                        return message_usage("sql", "%s: parameters are not supported",
                                             sqlite3_bind_parameter_name(statement, 1)
                                                     ? sqlite3_bind_parameter_name(statement, 1)
                                                     : "?");
        }
        return 0;
}

static int answer(struct sql *q)
{
        struct deliver_stream stream;
        struct err e = { 0 };
        int status = 0;

        if (!deliver_begin(&stream, &q->to, &e))
                return message_error(&e);
        q->result.to = &stream;
        if (q->schema)
                sql_schema(q->db, &stream.text);
        for (size_t i = 0; i < q->statement_count && !status && !stream.failure; i++)
                if (!sql_result_write(&q->result, q->statements[i]))
                        status = say_wrong(q, NULL);
        if (status)
                deliver_give_up(&stream);
        if (!deliver_end(&stream, &e) && !status)
                status = message_error(&e);
        return status;
}

/* ---- the database ---- */

static bool reads(const struct sql *q, const char *table)
{
        return strstr(str_get(&q->tables), table);
}

static bool make_database(struct sql *q, const struct profile *p, struct err *e)
{
        struct symbols *s = symbols_new(p, &q->names.options);
        struct progress_line line;
        struct select_request request = { .cost = SELECT_LIVE, .each_site = true };
        struct selection sel, resources = { 0 };
        struct export_input in = { .profile = p, .symbols = s, .sel = &sel, .resources = &resources,
                                   .file = q->file };
        bool good, handles = reads(q, " resource ") || reads(q, " handle ") ||
                             reads(q, " frame ") || reads(q, " stack ");

        in.tables = str_get(&q->tables);
        progress_start(&line, "resolving names", q->quiet);
        request.progress = line.terminal ? &line.progress : NULL;
        good = select_make(&sel, p, s, &request, e);
        request.resources = true;
        good = good && (!handles || select_make(&resources, p, s, &request, e));
        q->db = good ? sqlite_database(&in, e) : NULL;
        select_free(&resources);
        select_free(&sel);
        progress_end(&line);
        symbols_free(s);
        return q->db != NULL;
}

static void close_database(struct sql *q)
{
        for (size_t i = 0; i < q->statement_count; i++)
                sqlite3_finalize(q->statements[i]);
        free(q->statements);
        q->statements = NULL;
        q->statement_count = 0;
        sqlite3_close(q->db);
        q->db = NULL;
}

/* The database for all statements, or that of no rows for the list of tables. */
static int open_database(struct sql *q, const struct profile *p)
{
        struct err e = { 0 };
        int status;

        q->db = sqlite_empty();
        if (!close_in(q))
                return say_wrong(q, NULL);
        status = q->schema ? 0 : prepare(q);
        if (status || q->schema)
                return status;
        close_database(q);
        if (!make_database(q, p, &e))
                return message_error(&e);
        return close_in(q) ? prepare(q) : say_wrong(q, NULL);
}

static int run(struct sql *q)
{
        struct profile p = { 0 };
        struct err e = { 0 };
        int status;

        q->to.quiet = q->quiet;
        if (!deliver_prepare(&q->to, &e) || (!q->file && !newest_recording(&q->file, &e)) ||
            !load_recording(&p, q->file, LOAD_SEARCHED | (q->quiet ? LOAD_QUIET : 0), &e)) {
                deliver_drop(&q->to);
                return message_error(&e);
        }
        status = open_database(q, &p);
        profile_free(&p);
        if (!status) {
                q->result.color = deliver_color(&q->to, q->color);
                q->result.columns = q->to.output ? 0 : pager_columns();
                status = answer(q);
        }
        close_database(q);
        str_free(&q->tables);
        deliver_drop(&q->to);
        return status;
}

/* ---- words ---- */

static int take(void *to, int which, const char *value)
{
        struct sql *q = to;
        int status = 0;

        if (names_take(&q->names, "sql", sql_options[which].name, value, &status))
                return status;
        if ((which == SQL_CSV && q->result.format == SQL_FORMAT_JSON) ||
            (which == SQL_JSON && q->result.format == SQL_FORMAT_CSV))
                return message_usage("sql", "--csv and --json: one of them");
        if (which == SQL_CSV || which == SQL_JSON)
                q->result.format = which == SQL_CSV ? SQL_FORMAT_CSV : SQL_FORMAT_JSON;
        q->result.no_header |= which == SQL_NO_HEADER;
        q->schema |= which == SQL_SCHEMA;
        q->to.force |= which == SQL_FORCE;
        q->to.raw |= which == SQL_CSV || which == SQL_JSON;
        q->to.plain |= which == SQL_NO_PAGER || which == SQL_CSV || which == SQL_JSON;
        q->quiet |= which == SQL_QUIET;
        if (which == SQL_OUTPUT)
                q->to.output = value;
        if (which == SQL_COLOR)
                q->color = (enum pager_color)option_choice(PAGER_COLORS, value);
        return 0;
}

/* A query has spaces; a file that is there is a file all the same. */
static bool is_query(const char *operand)
{
        return strcmp(operand, "-") == 0 ||
               (strpbrk(operand, " \t\n;(") && access(operand, F_OK) != 0);
}

/* [FILE] [QUERY|-], or the other way round.  0, or the status after a message. */
static int take_operands(struct sql *q, int count, char **operands)
{
        const char *query = NULL;
        bool swapped = count == 2 && is_query(operands[0]) && !is_query(operands[1]);
        struct err e = { 0 };

        if (count > 2)
                return message_usage("sql",
                                     "one recording and one query, not also '%s' (put quotes "
                                     "around the query)", operands[2]);
        if (count == 2 || (count == 1 && !is_query(operands[0])))
                q->file = heap_text(operands[swapped]);
        if (count == 2 || (count == 1 && is_query(operands[0])))
                query = operands[swapped ? 0 : count - 1];
        if (q->result.no_header && q->result.format == SQL_FORMAT_JSON)
                return message_usage("sql",
                                     "--json has the column names in every row: --no-header is for "
                                     "tables and --csv");
        if (q->schema && (q->result.format != SQL_FORMAT_TABLE || q->result.no_header))
                return message_usage("sql",
                                     "--schema prints text: 'SELECT * FROM pragma_table_list' "
                                     "gives the tables to --csv and --json");
        if (q->schema)
                return query ? message_usage("sql",
                                             "--schema lists tables and views: it takes no query")
                             : 0;
        if (query && strcmp(query, "-") != 0)
                str_text(&q->query, query);
        else if ((query || !isatty(STDIN_FILENO)) && !io_read(STDIN_FILENO, &q->query)) {
                err_sys(&e, ERR_EXIT_USAGE, "cannot read the query from stdin");
                return message_error(&e);
        }
        if (!query && strspn(str_get(&q->query), " \t\r\n") == q->query.length)
                q->schema = true;
        return 0;
}

int cmd_sql(int argc, char **argv)
{
        struct sql q = { 0 };
        struct option_parser parser;
        int status;

        option_start(&parser, "sql", sql_options, argc, argv);
        status = option_take(&parser, take, &q);
        names_settle(&q.names, q.quiet);
        q.names.options.raw = true; /* each format of a result escapes in its own way */
        if (!status)
                status = take_operands(&q, argc - parser.first_operand,
                                       argv + parser.first_operand);
        if (!status)
                status = run(&q);
        free(q.file);
        str_free(&q.query);
        return status == OPTION_HELP ? say_help() : status;
}
