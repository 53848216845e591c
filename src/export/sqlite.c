/* SPDX-License-Identifier: MIT */
/*
 * sqlite.c -- a recording as an SQLite database.
 *
 * Keeps:  tables are filled in one transaction, indices are made when all rows are there; only then it becomes a file.  A small one
 *         is made in memory, a large one in a file without a name.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/utf8.h"
#include "export/sqlite_parts.h"

#define SQLITE_ROWS_IN_MEMORY 2000000u
#define SQLITE_PART (1u << 20)
#define ROWS_AT_ONCE 32u /* times 27 columns is below the 999 that old versions of SQLite take */

/* By site: whether it is part of a row. */
static uint8_t *chosen_sites(const struct selection *sel)
{
        uint8_t *heap = select_sites(sel, &sel->heap), *mapped = select_sites(sel, &sel->mapped);

        for (uint32_t i = 0; i < sel->profile->site_count; i++)
                heap[i] |= mapped[i];
        free(mapped);
        return heap;
}

static void put_all(struct sqlite_parts *m)
{
        static void (*const steps[])(struct sqlite_parts *) = {
                sqlite_put_meta, sqlite_put_course, sqlite_put_stacks, sqlite_put_sites, sqlite_put_functions, sqlite_put_heap, sqlite_put_others,
        };

        m->chosen = chosen_sites(m->sel);
        m->ends = heap_zero(m->sel->node_count, sizeof *m->ends);
        m->resource_ends = heap_zero(m->resources->node_count, sizeof *m->resource_ends);
        m->whole_ends = heap_zero(m->p->node_count, sizeof *m->whole_ends);
        m->growth = growth_judge(m->p, m->sel->leaders);
        leaks_make_sums(&m->leaks, m->sel, m->symbols);
        for (size_t i = 0; i < sizeof steps / sizeof *steps && !m->rows.failed; i++)
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

static bool fill(sqlite3 *db, const struct export_input *in, const char *begin)
{
        const struct selection whole = { .profile = in->profile, .node_count = in->profile->node_count };
        struct sqlite_parts m = { .p = in->profile, .symbols = in->symbols, .sel = in->sel, .resources = in->resources ? in->resources : &whole,
                                  .whole = &whole, .filter = in->request ? in->request->filter : NULL, .rows = { .db = db } };
        char *marks = sqlite3_mprintf("PRAGMA user_version = %d; PRAGMA application_id = %d;", DATABASE_SCHEMA, DATABASE_APPLICATION);
        bool good = run_sql(db, begin) && run_sql(db, marks) && run_sql(db, sqlite_tables);

        if (good)
                put_all(&m);
        sqlite3_free(marks);
        return good && !m.rows.failed && run_sql(db, sqlite_views) && run_sql(db, "COMMIT");
}

sqlite3 *sqlite_database(const struct export_input *in, struct err *e)
{
        sqlite3 *db = NULL;

        sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); /* a lock for each allocation, for numbers that nobody reads */
        if (sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK &&
            fill(db, in, "PRAGMA journal_mode = OFF; PRAGMA temp_store = MEMORY; BEGIN"))
                return db;
        err_set(e, ERR_EXIT_USAGE, "cannot make the database: %s", db ? sqlite3_errmsg(db) : "no memory");
        sqlite3_close(db);
        return NULL;
}

/* ---- larger than memory should be ---- */

/* Rows, roughly. */
static bool is_large(const struct profile *p)
{
        return p->block_count + p->pointer_count + p->hold_count + p->change_count + p->node_count > SQLITE_ROWS_IN_MEMORY;
}

/* A file of our own where large ones may be, to be made into a database; -1: none can be had.  PATH is told. */
static int make_file(struct str *path)
{
        const char *folder = getenv("TMPDIR");
        int fd;

        str_format(path, "%s/seep-XXXXXX", folder && *folder ? folder : access("/var/tmp", W_OK) == 0 ? "/var/tmp" : "/tmp");
        fd = mkostemp(path->data, O_CLOEXEC);
        return fd;
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
        struct str path = { 0 };
        sqlite3 *db = NULL;
        int fd = make_file(&path);
        bool good = fd >= 0;

        if (!good)
                err_sys(e, ERR_EXIT_USAGE, "cannot make the database in %s (TMPDIR names another place)", str_get(&path));
        if (good) {
                sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
                good = sqlite3_open_v2(path.data, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK;
                unlink(path.data); /* it lives as long as we have it open */
                good = good && fill(db, in, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
                                            "PRAGMA cache_size = -65536; PRAGMA temp_store = FILE; BEGIN");
                if (!good)
                        err_set(e, ERR_EXIT_USAGE, "cannot make the database in a file beside %s: %s", path.data, db ? sqlite3_errmsg(db) : "no memory");
                good = sqlite3_close(db) == SQLITE_OK && good;
                good = good && pass_on(in, fd, out);
                close(fd);
        }
        str_free(&path);
        return good;
}

bool export_sqlite(const struct export_input *in, struct str *out, struct err *e)
{
        sqlite3 *db = is_large(in->profile) && in->reader ? NULL : sqlite_database(in, e);
        sqlite3_int64 bytes = 0;
        unsigned char *image;

        if (!db)
                return is_large(in->profile) && in->reader && export_large(in, out, e);
        image = sqlite3_serialize(db, "main", &bytes, 0);
        if (image)
                str_bytes(out, image, (size_t)bytes);
        else
                err_set(e, ERR_EXIT_USAGE, "cannot make the database: no memory for a file of it");
        sqlite3_free(image);
        sqlite3_close(db);
        return image != NULL;
}

/* ---- rows into a table of a database, value after value ---- */

static uint32_t columns_of(sqlite3 *db, const char *table)
{
        char *sql = sqlite3_mprintf("SELECT * FROM \"%w\"", table);
        sqlite3_stmt *all = NULL;
        int count = sqlite3_prepare_v2(db, sql, -1, &all, NULL) == SQLITE_OK ? sqlite3_column_count(all) : 0;

        sqlite3_finalize(all);
        sqlite3_free(sql);
        return (uint32_t)count;
}

static void prepare(struct sql_rows *r, const char *table, uint32_t count, sqlite3_stmt **out)
{
        struct str sql = { 0 };

        str_format(&sql, "INSERT INTO \"%s\" VALUES", table);
        for (uint32_t i = 0; i < count; i++) {
                str_text(&sql, i ? ",(" : "(");
                for (uint32_t k = 0; k < r->columns; k++)
                        str_text(&sql, k ? ",?" : "?");
                str_char(&sql, ')');
        }
        r->failed |= sqlite3_prepare_v2(r->db, str_get(&sql), -1, out, NULL) != SQLITE_OK;
        str_free(&sql);
}

void rows_begin(struct sql_rows *r, const char *table)
{
        r->columns = columns_of(r->db, table);
        r->values = heap_zero((size_t)r->columns * ROWS_AT_ONCE, sizeof *r->values);
        prepare(r, table, 1, &r->one);
        prepare(r, table, ROWS_AT_ONCE, &r->many);
}

static int bind(const struct sql_rows *r, sqlite3_stmt *insert, int column, const struct sql_value *v)
{
        switch (v->type) {
        case SQLITE_INTEGER:
                return sqlite3_bind_int64(insert, column, v->number);
        case SQLITE_FLOAT:
                return sqlite3_bind_double(insert, column, v->real);
        case SQLITE_TEXT:
                return sqlite3_bind_text64(insert, column, r->texts.data + v->at, v->bytes, SQLITE_STATIC, SQLITE_UTF8);
        case SQLITE_BLOB:
                return sqlite3_bind_blob64(insert, column, r->texts.data + v->at, v->bytes, SQLITE_STATIC);
        default:
                return sqlite3_bind_null(insert, column);
        }
}

static void insert_values(struct sql_rows *r, sqlite3_stmt *insert, const struct sql_value *values, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++)
                r->failed |= bind(r, insert, (int)i + 1, &values[i]) != SQLITE_OK;
        r->failed |= sqlite3_step(insert) != SQLITE_DONE;
        sqlite3_reset(insert);
}

void rows_next(struct sql_rows *r)
{
        if (r->count < r->columns * ROWS_AT_ONCE)
                return;
        insert_values(r, r->many, r->values, r->count);
        r->count = 0;
        str_clear(&r->texts);
}

void rows_end(struct sql_rows *r)
{
        for (uint32_t i = 0; i < r->count; i += r->columns)
                insert_values(r, r->one, r->values + i, r->columns);
        sqlite3_finalize(r->one);
        sqlite3_finalize(r->many);
        free(r->values);
        str_free(&r->texts);
        *r = (struct sql_rows){ .db = r->db, .failed = r->failed };
}

static void add(struct sql_rows *r, struct sql_value value)
{
        r->values[r->count++] = value;
}

void rows_number(struct sql_rows *r, uint64_t value)
{
        add(r, (struct sql_value){ .type = SQLITE_INTEGER, .number = (sqlite3_int64)value });
}

void rows_some(struct sql_rows *r, uint64_t value)
{
        rows_known(r, value, value != 0);
}

void rows_known(struct sql_rows *r, uint64_t value, bool known)
{
        if (known)
                rows_number(r, value);
        else
                rows_null(r);
}

void rows_real(struct sql_rows *r, double value)
{
        add(r, (struct sql_value){ .type = SQLITE_FLOAT, .real = value });
}

void rows_null(struct sql_rows *r)
{
        add(r, (struct sql_value){ .type = SQLITE_NULL });
}

void rows_blob(struct sql_rows *r, const void *bytes, size_t count)
{
        add(r, (struct sql_value){ .type = SQLITE_BLOB, .at = r->texts.length, .bytes = count });
        str_bytes(&r->texts, bytes, count);
}

void rows_text(struct sql_rows *r, const char *text)
{
        size_t at = r->texts.length;

        if (!text) {
                rows_null(r);
                return;
        }
        for (unsigned bytes; *text; text += bytes ? bytes : 1) {
                bytes = utf8_bytes(text);
                str_bytes(&r->texts, bytes ? text : UTF8_WRONG, bytes ? bytes : strlen(UTF8_WRONG));
        }
        add(r, (struct sql_value){ .type = SQLITE_TEXT, .at = at, .bytes = r->texts.length - at });
}
