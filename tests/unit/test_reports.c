/* SPDX-License-Identifier: MIT */
/*
 * test_reports.c -- names and places of the reports of snapshots.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/io.h"
#include "base/place.h"
#include "session/reports.h"
#include "tap.h"

static char place[64];

static void enter(void)
{
        strcpy(place, "/tmp/seep-reports-XXXXXX");
        is_true(mkdtemp(place) && chdir(place) == 0);
        unsetenv("TMPDIR");
}

static void leave(void)
{
        char command[128];

        snprintf(command, sizeof command, "/bin/rm -rf %s", place);
        is_true(chdir("/") == 0 && system(command) == 0);
}

/* Store TEXT as report SEQ in the directory WHERE, and expect it in the file NAME of the test's
 * own. */
static void goes_to(const char *where, uint32_t seq, const char *text, const char *name)
{
        struct reports_place p = { (char *)where, place_folder(where), "/usr/bin/thing", 12 };
        struct str body = { 0 }, read = { 0 };
        struct err e = { 0 };
        char *path = NULL, expected[128];

        str_text(&body, text);
        is_true(reports_store(&p, seq, &body, &path, &e));
        snprintf(expected, sizeof expected, "%s/%s", place, name);
        is_text(path, expected);
        is_true(io_read_file(name, &read));
        is_text(str_get(&read), text);
        close(p.folder);
        free(path);
        str_free(&body);
        str_free(&read);
}

TEST(a_report_is_named_after_program_process_and_number)
{
        enter();
        goes_to(".", 1, "one", "thing-12-1.memlog");
        goes_to(".", 2, "two", "thing-12-2.memlog");
        goes_to(place, 7, "", "thing-12-7.memlog");
        leave();
}

TEST(a_file_that_is_there_stays_and_the_next_number_is_taken)
{
        struct str old = { 0 };
        int fd;

        enter();
        fd = open("thing-12-1.memlog", O_CREAT | O_WRONLY, 0600);
        is_true(fd >= 0 && write(fd, "mine", 4) == 4 && close(fd) == 0);
        is_true(symlink("/nowhere/at/all", "thing-12-2.memlog") == 0);
        is_true(mkdir("thing-12-3.memlog", 0700) == 0);
        goes_to(".", 1, "new", "thing-12-4.memlog");
        is_true(io_read_file("thing-12-1.memlog", &old));
        is_text(str_get(&old), "mine");
        str_free(&old);
        leave();
}

TEST(a_name_leads_to_no_other_directory)
{
        struct reports_place p = { ".", -1, "/usr/bin/..", 3 };
        struct str body = { 0 };
        struct err e = { 0 };
        char *path = NULL;

        enter();
        p.folder = place_folder(".");
        is_true(reports_store(&p, 1, &body, &path, &e));
        is_true(access("_.-3-1.memlog", F_OK) == 0);
        free(path);
        p.program = "a\nb/c\x1b[0m";
        is_true(reports_store(&p, 1, &body, &path, &e));
        is_true(path && !strpbrk(path, "\n\x1b"));
        close(p.folder);
        free(path);
        leave();
}

TEST(what_cannot_be_written_there_goes_to_tmpdir_with_the_reason)
{
        struct reports_place p = { "no/such/place", -1, "thing", 12 };
        struct str body = { 0 };
        struct err e = { 0 };
        char *path = NULL;

        enter();
        setenv("TMPDIR", place, 1);
        is_true(reports_store(&p, 5, &body, &path, &e));
        is_true(path && strncmp(path, place, strlen(place)) == 0);
        has_text(e.text, "no/such/place");
        has_text(e.text, "No such file");
        free(path);
        leave();
}

/* ---- orders ---- */

static void write_range(void *context, const struct profile *p, uint32_t from, uint32_t to,
                        struct str *out)
{
        (void)context, (void)p;
        if (from == REPORTS_FROM_START)
                str_format(out, "start..%u", to);
        else
                str_format(out, "%u..%u", from, to);
}

static const struct reports_author author = { NULL, write_range };

static void tells(const struct profile *p, uint32_t from_seq, uint32_t seq, const char *expected)
{
        struct reports_place where = { place, place_folder(place), "thing", 12 };
        struct reports_order order = { seq, from_seq };
        struct reports_result result;
        struct str text = { 0 };

        reports_write(&author, &where, p, &order, &result);
        is_equal(result.seq, seq);
        is_equal(result.written, expected != NULL);
        if (expected)
                is_true(io_read_file(result.path, &text));
        else
                is_true(result.why[0]);
        is_text(str_get(&text), expected ? expected : "");
        close(where.folder);
        str_free(&text);
}

TEST(a_report_tells_the_change_since_the_one_before)
{
        struct profile_mark marks[] = { { .seq = 0, .slice = 1 },
                                        { .seq = 1, .slice = 2 },
                                        { .seq = 3, .slice = 5 } };
        struct profile p = { .marks = marks, .mark_count = 3, .slice_count = 6 };

        enter();
        tells(&p, 0, 1, "start..2");
        tells(&p, 1, 3, "2..5");
        tells(&p, 2, 3, "start..5"); /* its mark had to be given up */
        tells(&p, 0, 2, NULL);
        p.slice_count = 5;
        tells(&p, 0, 3, NULL);
        leave();
}

TAP_MAIN(a_report_is_named_after_program_process_and_number,
         a_file_that_is_there_stays_and_the_next_number_is_taken,
         a_name_leads_to_no_other_directory,
         what_cannot_be_written_there_goes_to_tmpdir_with_the_reason,
         a_report_tells_the_change_since_the_one_before)
