/* SPDX-License-Identifier: MIT */
/*
 * test_sqlite_pages.c -- rows that we put into the pages of a database, read by SQLite.
 *
 * The truth is SQLite's own: PRAGMA integrity_check, and what the rows were made from.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/heap.h"
#include "export/sqlite_parts.h"
#include "tap.h"

#define SCHEMA                                                                                   \
        "PRAGMA page_size = 4096; CREATE TABLE t(id INTEGER PRIMARY KEY, a INTEGER, b INTEGER, " \
        "word TEXT, bytes BLOB, part REAL);"                                                     \
        "CREATE INDEX t_a ON t(a); CREATE INDEX t_b ON t(b, a); CREATE TABLE plain(x INTEGER, y)"

static sqlite3 *open_memory(void)
{
        sqlite3 *db = NULL;

        sqlite3_open(":memory:", &db);
        return db;
}

/* Numbers of every length, of both signs. */
static uint64_t number(uint64_t i)
{
        uint64_t hash = (i + 1) * 0x9e3779b97f4a7c15ull;

        return i % 7 == 0   ? i
               : i % 7 == 1 ? (uint64_t) - (int64_t)(i & 0xffff)
                            : hash >> (hash & 63);
}

static size_t word_length(uint64_t i)
{
        return i % 1009 == 5 ? 4000 + i % 100 : i % 5003 == 9 ? 20000 + i % 9000 : i % 40;
}

static void put_row(struct sql_rows *r, uint64_t id, uint64_t i)
{
        char word[32768];

        memset(word, 'a' + (int)(i % 26), word_length(i));
        word[word_length(i)] = 0;
        rows_number(r, id);
        rows_number(r, number(i));
        rows_known(r, i % 1000, i % 3 != 0);
        rows_text(r, i % 11 == 3 ? NULL : word);
        rows_blob(r, word, i % 13);
        rows_real(r, (double)i / 4);
        rows_next(r);
}

/* The database as it is made, in memory or in the file FD. */
static void make(struct sql_pages *pages, int fd, uint64_t count, uint64_t step)
{
        sqlite3 *empty = open_memory();
        struct sql_rows *r = heap_zero(1, sizeof *r);
        sqlite3_int64 bytes;
        unsigned char *image;

        sqlite3_exec(empty, SCHEMA, NULL, NULL, NULL);
        image = sqlite3_serialize(empty, "main", &bytes, 0);
        sql_pages_start(pages, image, (uint64_t)bytes, fd);
        *r = (struct sql_rows){ .db = empty, .pages = pages };
        rows_begin(r, "t");
        for (uint64_t i = 0; i < count; i++)
                put_row(r, i * step, i);
        rows_end(r);
        rows_begin(r, "plain");
        for (uint64_t i = 0; i < count / 10; i++) {
                rows_number(r, i);
                rows_text(r, "\xff");
                rows_next(r);
        }
        rows_end(r);
        sql_pages_end(pages);
        is_true(!r->trouble && !pages->failed);
        sqlite3_free(image);
        sqlite3_close(empty);
        free(r);
}

static bool same_row(sqlite3_stmt *s, uint64_t id, uint64_t i)
{
        const char *word = (const char *)sqlite3_column_text(s, 3);
        size_t length = word_length(i);
        bool good = sqlite3_column_int64(s, 0) == (sqlite3_int64)id &&
                    (uint64_t)sqlite3_column_int64(s, 1) == number(i);

        good &= i % 3 ? sqlite3_column_int64(s, 2) == (sqlite3_int64)(i % 1000)
                      : sqlite3_column_type(s, 2) == SQLITE_NULL;
        if (i % 11 == 3)
                good &= !word;
        else
                good &= word && strlen(word) == length &&
                        (!length ||
                         (word[0] == 'a' + (int)(i % 26) && word[length - 1] == word[0]));
        return good && sqlite3_column_bytes(s, 4) == (int)(i % 13) &&
               (uint64_t)(sqlite3_column_double(s, 5) * 4) == i;
}

static uint64_t count_same(sqlite3 *db, uint64_t step)
{
        sqlite3_stmt *s = NULL;
        uint64_t i = 0;

        sqlite3_prepare_v2(db, "SELECT * FROM t ORDER BY id", -1, &s, NULL);
        while (sqlite3_step(s) == SQLITE_ROW && same_row(s, i * step, i))
                i++;
        sqlite3_finalize(s);
        return i;
}

static int64_t ask(sqlite3 *db, const char *sql)
{
        sqlite3_stmt *s = NULL;
        int64_t answer = -1;

        if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
                answer = sqlite3_column_int64(s, 0);
        sqlite3_finalize(s);
        return answer;
}

static bool is_sound(sqlite3 *db)
{
        return ask(db, "SELECT integrity_check = 'ok' FROM pragma_integrity_check") == 1;
}

static bool opens(sqlite3 **db, struct sql_pages *pages)
{
        sqlite3_int64 bytes = (sqlite3_int64)pages->count * SQL_PAGE;

        *db = open_memory();
        return sqlite3_deserialize(*db, "main", pages->data, bytes, bytes,
                                   SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY) ==
               SQLITE_OK;
}

static void check(uint64_t count, uint64_t step)
{
        struct sql_pages pages;
        sqlite3 *db;

        make(&pages, -1, count, step);
        is_true(opens(&db, &pages) && is_sound(db));
        is_equal(count_same(db, step), count);
        is_equal((uint64_t)ask(db, "SELECT count(*) FROM t INDEXED BY t_a WHERE a >= 0 OR a < 0"),
                 count);
        sqlite3_close(db);
}

/* The page where SQLite keeps locks is passed over: the file is nearly there when rows begin. */
TEST(the_page_of_locks_is_passed_over)
{
        char path[] = "/tmp/seep-test-XXXXXX";
        int fd = mkstemp(path);
        sqlite3 *empty = open_memory(), *db = NULL;
        struct sql_rows *r = heap_zero(1, sizeof *r);
        struct sql_pages pages;
        sqlite3_int64 bytes;
        unsigned char *image;

        sqlite3_exec(empty, SCHEMA, NULL, NULL, NULL);
        image = sqlite3_serialize(empty, "main", &bytes, 0);
        sql_pages_start(&pages, image, (uint64_t)bytes, fd);
        is_true(write(fd, image, (size_t)bytes) == bytes &&
                lseek(fd, (1 << 30) - 40 * 4096, SEEK_SET) > 0);
        str_clear(&pages.late);
        pages.count = (1 << 30) / 4096 - 40;
        *r = (struct sql_rows){ .db = empty, .pages = &pages };
        rows_begin(r, "t");
        for (uint64_t i = 0; i < 20000; i++)
                put_row(r, i, i);
        rows_end(r);
        sql_pages_end(&pages);
        is_true(sqlite3_open(path, &db) == SQLITE_OK);
        is_equal(count_same(db, 1), 20000);
        sqlite3_close(db);
        sqlite3_free(image);
        sqlite3_close(empty);
        free(r);
        close(fd);
        unlink(path);
}

TEST(two_rows_with_one_id_are_refused)
{
        struct sql_pages pages;
        sqlite3 *empty = open_memory();
        struct sql_rows *r = heap_zero(1, sizeof *r);
        sqlite3_int64 bytes;
        unsigned char *image;

        sqlite3_exec(empty, SCHEMA, NULL, NULL, NULL);
        image = sqlite3_serialize(empty, "main", &bytes, 0);
        sql_pages_start(&pages, image, (uint64_t)bytes, -1);
        *r = (struct sql_rows){ .db = empty, .pages = &pages };
        rows_begin(r, "t");
        put_row(r, 7, 0);
        put_row(r, 7, 1);
        rows_end(r);
        is_true(r->trouble);
        sql_pages_end(&pages);
        sqlite3_free(pages.data);
        sqlite3_free(image);
        sqlite3_close(empty);
        free(r);
}

TEST(small_tables_are_sound)
{
        for (uint64_t count = 0; count < 40; count++)
                check(count, 1);
}

/* A leaf of an index is full, and one entry is left. */
TEST(every_way_in_which_the_last_page_is_filled)
{
        for (uint64_t count = 180; count < 330; count++)
                check(count, 3);
}

TEST(trees_of_several_levels)
{
        check(200000, 1);
        check(70001, 4099);
}

TAP_MAIN(small_tables_are_sound, every_way_in_which_the_last_page_is_filled,
         trees_of_several_levels, the_page_of_locks_is_passed_over,
         two_rows_with_one_id_are_refused)
