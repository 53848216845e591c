/* SPDX-License-Identifier: MIT */
/*
 * test_newest.c -- which recording is meant when none is named.
 */
#include "cli/newest.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap.h"

static void make(const char *name, time_t seconds, long ns)
{
        struct timespec times[2] = { { seconds, ns }, { seconds, ns } };
        int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

        is_true(fd >= 0 && write(fd, "x", 1) == 1 && !futimens(fd, times));
        close(fd);
}

static void newest_is(const char *expected)
{
        struct err e = { 0 };
        char *path;

        is_true(newest_recording(&path, &e));
        is_text(path, expected);
        free(path);
}

TEST(without_a_recording_the_error_says_how_to_make_one)
{
        char directory[] = "/tmp/seep-unit-XXXXXX";
        struct err e = { 0 };
        char *path;

        is_true(mkdtemp(directory) && !chdir(directory));
        make("notes.txt", 9, 0);
        make(".seep", 9, 0);
        is_true(!mkdir("folder.seep", 0700));
        is_true(!newest_recording(&path, &e) && !path);
        is_equal(e.exit_code, ERR_EXIT_USAGE);
        has_text(e.text, "seep record PROGRAM");
}

TEST(the_file_that_was_written_last_is_taken)
{
        make("a.1.seep", 100, 5);
        newest_is("a.1.seep");
        make("b.2.seep", 100, 7);
        newest_is("b.2.seep");
        make("a.3.seep", 99, 999999999);
        newest_is("b.2.seep");
        make("c.4.seep.old", 500, 0);
        newest_is("b.2.seep");
}

TEST(of_two_from_the_same_moment_the_greater_name_is_taken)
{
        make("b.10.seep", 100, 7);
        newest_is("b.2.seep");
        make("z.seep", 100, 7);
        newest_is("z.seep");
}

TEST(nothing_is_left_behind)
{
        static const char *const names[] = { "notes.txt", ".seep",     "a.1.seep", "b.2.seep",
                                             "a.3.seep",  "c.4.seep.old", "b.10.seep", "z.seep" };
        char directory[64];

        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                is_true(!unlink(names[i]));
        is_true(!rmdir("folder.seep"));
        is_true(getcwd(directory, sizeof directory) && !chdir("/") && !rmdir(directory));
}

TAP_MAIN(without_a_recording_the_error_says_how_to_make_one,
         the_file_that_was_written_last_is_taken,
         of_two_from_the_same_moment_the_greater_name_is_taken, nothing_is_left_behind)
