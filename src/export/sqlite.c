/* SPDX-License-Identifier: MIT */
/*
 * sqlite.c -- a recording as an SQLite database.
 *
 * Keeps:  SQLite makes the tables, indices and views, empty ones; the rows are put behind them as
 *         they belong there (sqlite_pages.h).  A small database is made in memory, a large one in a
 *         file that has no name when it is used.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/place.h"
#include "export/sqlite_parts.h"

#define SQLITE_ROWS_IN_MEMORY 2000000u
#define SQLITE_PART (1u << 20)

/* By site: whether it is part of a row. */
static uint8_t *chosen_sites(const struct selection *sel)
{
        uint8_t *heap = select_sites(sel, &sel->heap), *mapped = select_sites(sel, &sel->mapped),
                *older = select_sites(sel, &sel->older);

        for (uint32_t i = 0; i < sel->profile->site_count; i++)
                heap[i] |= mapped[i] | older[i];
        free(mapped);
        free(older);
        return heap;
}

static void put_all(struct sqlite_parts *m)
{
        static void (*const steps[])(struct sqlite_parts *) = {
                sqlite_put_meta,      sqlite_put_course, sqlite_put_stacks, sqlite_put_sites,
                sqlite_put_functions, sqlite_put_heap,   sqlite_put_types,  sqlite_put_others,
        };

        m->chosen = chosen_sites(m->sel);
        m->cuts = m->sel->parents || calltree_has_cuts(m->p);
        m->ends = heap_zero(m->sel->node_count, sizeof *m->ends);
        m->resource_ends = heap_zero(m->resources->node_count, sizeof *m->resource_ends);
        m->whole_ends = heap_zero(m->p->node_count, sizeof *m->whole_ends);
        if (rows_wanted(&m->rows, "site"))
                m->growth = growth_judge(m->p, m->sel->leaders);
        if (rows_wanted(&m->rows, "site") || rows_wanted(&m->rows, "by_function") ||
            rows_wanted(&m->rows, "block"))
                leaks_make_sums(&m->leaks, m->sel, m->symbols);
        for (size_t i = 0; i < sizeof steps / sizeof *steps && !m->rows.trouble; i++)
                steps[i](m);
        wrappers_free(&m->wrappers);
        leaks_free(&m->leaks);
        calltree_free(&m->tree);
        free(m->growth);
        free(m->chosen);
        free(m->ends);
        free(m->resource_ends);
        free(m->whole_ends);
        free(m->names);
        strings_free(&m->functions);
}

static bool run_sql(sqlite3 *db, const char *sql)
{
        return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

sqlite3 *sqlite_empty(void)
{
        char *sql = sqlite3_mprintf("PRAGMA page_size = %u; PRAGMA auto_vacuum = 0; PRAGMA "
                                    "encoding = 'UTF-8'; PRAGMA user_version = %d;"
                                    "PRAGMA application_id = %d;",
                                    SQL_PAGE, DATABASE_SCHEMA, DATABASE_APPLICATION);
        sqlite3 *db = NULL;
        bool good;

        /* A lock for each allocation, for numbers that nobody reads. */
        sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
        good = sqlite3_open_v2(":memory:", &db,
                               SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                               NULL) == SQLITE_OK &&
               run_sql(db, sql) && run_sql(db, sqlite_tables) && run_sql(db, sqlite_views);
        sqlite3_free(sql);
        if (good)
                return db;
        sqlite3_close(db);
        return NULL;
}

/* The database of IN, in memory or in the empty file FD. */
static bool fill(struct sql_pages *pages, int fd, const struct export_input *in, struct err *e)
{
        const struct selection whole = { .profile = in->profile,
                                         .node_count = in->profile->node_count };
        struct sqlite_parts m = { .p = in->profile,
                                  .symbols = in->symbols,
                                  .sel = in->sel,
                                  .resources = in->resources ? in->resources : &whole,
                                  .whole = &whole,
                                  .filter = in->request ? in->request->filter : NULL,
                                  .rows = { .db = sqlite_empty(), .pages = pages,
                                            .wanted = in->tables } };
        sqlite3_int64 bytes = 0;
        unsigned char *empty = m.rows.db ? sqlite3_serialize(m.rows.db, "main", &bytes, 0) : NULL;

        if (empty && bytes % SQL_PAGE == 0) {
                sql_pages_start(pages, empty, (uint64_t)bytes, fd);
                put_all(&m);
                sql_pages_end(pages);
        }
        sqlite3_close(m.rows.db);
        sqlite3_free(empty);
        if (!empty)
                return err_set(e, ERR_EXIT_USAGE,
                               "cannot make the database: SQLite does not make its tables");
        if (m.rows.trouble || pages->failed)
                return err_set(e, ERR_EXIT_USAGE, "cannot make the database: %s",
                               m.rows.trouble ? m.rows.trouble : "no room for it");
        return true;
}

/* ---- larger than memory should be ---- */

/* Rows of those tables that can have very many. */
static bool is_large(const struct export_input *in)
{
        const struct profile *p = in->profile;
        const struct { const char *table; uint64_t rows; } tables[] = {
                { " block ", p->block_count },  { " block_type ", p->block_count },
                { " ref ", p->pointer_count },  { " hold ", p->hold_count },
                { " change ", p->change_count }, { " stack ", p->node_count },
        };
        uint64_t rows = 0;

        for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
                if (!in->tables || strstr(in->tables, tables[i].table))
                        rows += tables[i].rows;
        return rows > SQLITE_ROWS_IN_MEMORY;
}

/* A file without a name where large ones may be, to be made into a database; place_close(). */
static bool begin_file(struct place *p, struct err *e)
{
        const char *folder = getenv("TMPDIR");
        struct str path = { 0 };
        uint64_t random;
        bool good;

        *p = PLACE_NONE;
        if (!folder || !*folder)
                folder = access("/var/tmp", W_OK) == 0 ? "/var/tmp" : "/tmp";
        good = getrandom(&random, sizeof random, 0) == (ssize_t)sizeof random;
        str_format(&path, "%s/seep-%016" PRIx64, folder, random);
        good = good && place_open(p, path.data, PLACE_NEW) && place_begin(p) >= 0 &&
               fchmod(p->fd, 0600) == 0;
        if (!good)
                err_sys(e, ERR_EXIT_USAGE,
                        "cannot make the database in %s (TMPDIR names another place)", folder);
        str_free(&path);
        return good;
}

/* The whole file at FD, part by part. */
static bool pass_on(const struct export_input *in, int fd, struct str *out)
{
        ssize_t n = 1;

        while (n > 0) {
                char *to = str_room(out, SQLITE_PART);

                n = read(fd, to, SQLITE_PART);
                if (n < 0 && errno == EINTR) {
                        n = 1;
                        continue;
                }
                str_end(out, to + (n > 0 ? n : 0));
                if (n < 0 || !export_more(in, out))
                        return false;
        }
        return true;
}

static bool export_large(const struct export_input *in, struct str *out, struct err *e)
{
        struct sql_pages pages = { 0 };
        struct place p;
        bool good = begin_file(&p, e) && fill(&pages, p.fd, in, e) &&
                    lseek(p.fd, 0, SEEK_SET) == 0 && pass_on(in, p.fd, out);

        place_close(&p);
        return good;
}

bool export_sqlite(const struct export_input *in, struct str *out, struct err *e)
{
        struct sql_pages pages = { 0 };
        bool good;

        if (is_large(in) && in->reader)
                return export_large(in, out, e);
        good = fill(&pages, -1, in, e);
        if (good)
                str_bytes(out, pages.data, (size_t)pages.count * SQL_PAGE);
        sqlite3_free(pages.data);
        return good;
}

/* ---- to be asked ---- */

static sqlite3 *refuse_open(sqlite3 *db, struct err *e)
{
        err_set(e, ERR_EXIT_USAGE, "cannot open the database: %s",
                db ? sqlite3_errmsg(db) : "no memory");
        sqlite3_close(db);
        return NULL;
}

/* The file has a name only until SQLite has opened it. */
static sqlite3 *open_large(const struct export_input *in, struct err *e)
{
        struct sql_pages pages = { 0 };
        sqlite3 *db = NULL;
        struct place p;

        if (begin_file(&p, e) && fill(&pages, p.fd, in, e)) {
                if (!place_end(&p))
                        place_refuse(p.path, ERR_EXIT_USAGE, e);
                else if (sqlite3_open_v2(p.path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX,
                                         NULL) != SQLITE_OK || !run_sql(db, "SELECT 1 FROM meta"))
                        db = refuse_open(db, e);
                unlinkat(p.directory, p.name, 0);
        }
        place_close(&p);
        return db;
}

static sqlite3 *open_small(const struct export_input *in, struct err *e)
{
        struct sql_pages pages = { 0 };
        sqlite3 *db = NULL;
        uint64_t bytes;

        if (!fill(&pages, -1, in, e)) {
                sqlite3_free(pages.data);
                return NULL;
        }
        bytes = (uint64_t)pages.count * SQL_PAGE;
        if (sqlite3_open_v2(":memory:", &db,
                            SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                            NULL) != SQLITE_OK) {
                sqlite3_free(pages.data);
        } else if (sqlite3_deserialize(db, "main", pages.data, (sqlite3_int64)bytes,
                                       (sqlite3_int64)bytes,
                                       SQLITE_DESERIALIZE_FREEONCLOSE |
                                               SQLITE_DESERIALIZE_READONLY) == SQLITE_OK) {
                return db; /* the pages are its own */
        }
        return refuse_open(db, e);
}

sqlite3 *sqlite_database(const struct export_input *in, struct err *e)
{
        return is_large(in) ? open_large(in, e) : open_small(in, e);
}
