/* SPDX-License-Identifier: MIT */
/*
 * test_output.c -- names of recordings, and places that cannot be written to.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile/file.h"
#include "session/output.h"
#include "tap.h"

static char place[64];

/* Each test works in a directory of its own. */
static void enter(void)
{
        strcpy(place, "/tmp/seep-output-XXXXXX");
        is_true(mkdtemp(place) && chdir(place) == 0);
        unsetenv("TMPDIR");
}

static void leave(void)
{
        char command[128];

        snprintf(command, sizeof command, "/bin/rm -rf %s", place);
        is_true(chdir("/") == 0 && system(command) == 0);
}

static void make_file(const char *name)
{
        int fd = open(name, O_CREAT | O_WRONLY | O_EXCL, 0600);

        is_true(fd >= 0 && write(fd, "mine", 4) == 4 && close(fd) == 0);
}

static void named(struct output *o, const char *program, uint32_t pid, bool is_main,
                  const char *expected)
{
        char *name = output_name(o, program, pid, o->used_count + 1, is_main);

        is_text(name, expected);
        free(name);
}

TEST(the_default_name_is_program_and_pid)
{
        struct output o;
        struct err e = { 0 };

        enter();
        is_true(output_prepare(&o, OUTPUT_DEFAULT, false, &e));
        is_text(e.text, "");
        named(&o, "/usr/bin/thing", 12, true, "thing.12.seep");
        named(&o, "./other", 13, false, "other.13.seep");
        output_free(&o);
        leave();
}

TEST(a_name_is_given_once)
{
        struct output o;
        struct err e = { 0 };

        enter();
        is_true(output_prepare(&o, "out.seep", false, &e));
        named(&o, "sh", 12, true, "out.seep");
        named(&o, "prog", 12, true, "out.2.seep");
        named(&o, "child", 13, false, "out.13.seep");
        named(&o, "child", 13, false, "out.13.2.seep");
        output_free(&o);
        leave();
}

static void made_room(struct output *o, const char *program, const char *earlier,
                      const char *expected)
{
        char *there = output_make_room(o, program, 12, 2, "env", earlier);

        is_true(!there == !expected);
        if (there && expected)
                is_text(there, expected);
        free(there);
}

TEST(the_last_program_of_a_process_gets_the_name)
{
        struct output o;
        struct err e = { 0 };

        enter();
        is_true(output_prepare(&o, "out.seep", false, &e));
        make_file("out.2.seep");
        named(&o, "env", 12, true, "out.seep");
        make_file("out.seep");
        made_room(&o, "sh", "out.seep", "out.1.seep");
        is_true(access("out.1.seep", F_OK) == 0 && access("out.seep", F_OK) < 0);
        named(&o, "sh", 12, true, "out.seep");
        /* ... and is never written here, as on a full disk */
        made_room(&o, "tool", "out.seep", "out.3.seep");
        named(&o, "tool", 12, true, "out.seep");
        output_free(&o);
        leave();
}

TEST(a_recording_with_another_name_stays)
{
        struct output o;
        struct err e = { 0 };

        enter();
        is_true(output_prepare(&o, OUTPUT_DEFAULT, false, &e));
        named(&o, "sh", 12, true, "sh.12.seep");
        make_file("sh.12.seep");
        made_room(&o, "tool", "sh.12.seep", NULL);
        is_true(access("sh.12.seep", F_OK) == 0);
        output_free(&o);
        leave();
}

TEST(others_go_to_a_folder_beside_the_main_one)
{
        struct output o;
        struct err e = { 0 };
        char *folder;

        enter();
        is_true(output_prepare(&o, "out.seep", false, &e) && output_gather(&o, true, &e));
        named(&o, "env", 12, true, "out.seep");
        make_file("out.seep");
        made_room(&o, "tool", "out.seep", "out.seep.d/env.12.seep");
        named(&o, "tool", 12, true, "out.seep");
        named(&o, "/bin/../x y", 13, false, "out.seep.d/x y.13.seep");
        named(&o, "/bin/../x y", 13, false, "out.seep.d/x y.13.2.seep");
        folder = output_settle(&o);
        is_true(folder && access("out.seep.d/env.12.seep", F_OK) == 0);
        free(folder);
        output_remove(&o, "out.seep.d/env.12.seep");
        is_true(!output_settle(&o) && access("out.seep.d", F_OK) < 0);
        output_free(&o);
        leave();
}

TEST(a_folder_of_somebody_else_or_a_link_is_not_used)
{
        struct output o;
        struct err e = { 0 };

        enter();
        is_true(mkdir("elsewhere", 0700) == 0 && symlink("elsewhere", "out.seep.d") == 0);
        is_true(output_prepare(&o, "out.seep", true, &e) && output_gather(&o, true, &e));
        named(&o, "main", 12, true, "out.seep");
        named(&o, "child", 13, false, "out.13.seep");
        is_true(!output_settle(&o));
        output_free(&o);
        leave();
}

TEST(a_pattern_may_name_pid_program_and_number)
{
        struct output o;
        struct err e = { 0 };

        enter();
        is_true(output_prepare(&o, "%n-%e-%p-100%%", false, &e));
        named(&o, "/bin/sh", 12, true, "1-sh-12-100%");
        named(&o, "/bin/ls", 13, false, "2-ls-13-100%");
        output_free(&o);
        leave();
}

TEST(a_strangers_name_leads_nowhere_else)
{
        struct output o;
        struct err e = { 0 };

        enter();
        is_true(output_prepare(&o, "%e.seep", false, &e));
        named(&o, "/tmp/..", 1, true, "_..seep");
        named(&o, "a\033[31m\nb", 2, true, "a_[31m_b.seep");
        named(&o, "", 3, true, "_.seep");
        output_free(&o);
        leave();
}

TEST(a_file_that_exists_is_refused_before_the_start)
{
        struct output o;
        struct err e = { 0 };

        enter();
        make_file("out.seep");
        is_true(!output_prepare(&o, "out.seep", false, &e));
        is_equal(e.exit_code, ERR_EXIT_USAGE);
        has_text(e.text, "-f");
        output_free(&o);
        is_true(output_prepare(&o, "out.seep", true, &e));
        named(&o, "x", 1, true, "out.seep");
        output_free(&o);
        leave();
}

TEST(a_file_that_only_the_pid_hits_is_kept)
{
        struct output o;
        struct err e = { 0 };

        enter();
        make_file("x.7.seep");
        is_true(output_prepare(&o, OUTPUT_DEFAULT, false, &e));
        named(&o, "x", 7, true, "x.7.2.seep");
        output_free(&o);
        leave();
}

TEST(a_place_that_takes_no_file_is_replaced_and_told)
{
        struct output o;
        struct err e = { 0 };
        char expected[128];

        enter();
        setenv("TMPDIR", place, 1);
        is_true(output_prepare(&o, "/proc/self/x.seep", false, &e));
        has_text(e.text, "cannot write to /proc/self");
        has_text(e.text, place);
        snprintf(expected, sizeof expected, "%s/x.seep", place);
        named(&o, "x", 1, true, expected);
        output_free(&o);
        leave();
}

static void refused(const char *pattern, bool force, const char *reason)
{
        struct output o;
        struct err e = { 0 };

        is_true(!output_prepare(&o, pattern, force, &e));
        is_equal(e.exit_code, ERR_EXIT_USAGE);
        has_text(e.text, reason);
        output_free(&o);
}

TEST(a_place_that_is_not_there_is_refused)
{
        enter();
        make_file("file");
        refused("/nowhere/at/all/x.seep", false, "no directory /nowhere/at/all");
        refused("file/x.seep", true, "no directory file");
        leave();
}

TEST(what_is_no_regular_file_is_refused)
{
        enter();
        is_true(mkfifo("pipe", 0600) == 0);
        refused("-", false, "name a file");
        refused("pipe", true, "name a file");
        refused("/dev/null", true, "name a file");
        leave();
}

TEST(a_recording_that_cannot_be_written_goes_elsewhere)
{
        struct output o;
        struct err e = { 0 };
        struct profile p = { 0 }, back;
        char *path, expected[128];

        enter();
        setenv("TMPDIR", place, 1);
        is_true(mkdir("sub", 0700) == 0);
        is_true(output_prepare(&o, "sub/x.seep", false, &e));
        path = output_name(&o, "x", 1, 1, true);
        is_true(rmdir("sub") == 0); /* gone while the program ran */
        is_true(!output_write(&o, &p, &path, false, &e));
        is_true(output_write(&o, &p, &path, true, &e));
        has_text(e.text, "sub/x.seep");
        snprintf(expected, sizeof expected, "%s/x.seep", place);
        is_text(path, expected);
        is_true(file_read(&back, path, &e));
        profile_free(&back);
        free(path);
        output_free(&o);
        leave();
}

TEST(a_directory_is_no_file_name)
{
        struct output o;
        struct err e = { 0 };

        enter();
        is_true(!output_prepare(&o, "/tmp", false, &e));
        has_text(e.text, "is a directory");
        is_true(!output_prepare(&o, "", false, &e));
        is_equal(e.exit_code, ERR_EXIT_USAGE);
        is_true(!output_prepare(&o, "sub/", false, &e));
        leave();
}

TEST(two_sessions_that_claim_their_names_do_not_meet)
{
        struct output a, b;
        struct err e = { 0 };

        enter();
        is_true(output_prepare(&a, "kept.seep", false, &e));
        is_true(output_prepare(&b, "kept.seep", false, &e));
        a.claim = b.claim = true;
        named(&a, "thing", 1, true, "kept.seep");
        named(&b, "thing", 2, true, "kept.2.seep");
        named(&a, "thing", 1, true, "kept.3.seep");
        output_free(&a);
        output_free(&b);
        leave();
}

TEST(reports_go_to_the_current_directory_or_beside_the_recording)
{
        struct output o;
        struct err e = { 0 };
        char *directory;

        enter();
        is_true(output_prepare_reports(&o, &e));
        is_text(e.text, "");
        directory = output_directory(&o, "");
        is_text(directory, ".");
        free(directory);
        directory = output_directory(&o, "some/where/x.seep");
        is_text(directory, "some/where");
        free(directory);
        output_free(&o);
        leave();
}

TAP_MAIN(the_default_name_is_program_and_pid, a_name_is_given_once,
         the_last_program_of_a_process_gets_the_name, a_recording_with_another_name_stays,
         others_go_to_a_folder_beside_the_main_one, a_folder_of_somebody_else_or_a_link_is_not_used,
         a_pattern_may_name_pid_program_and_number, a_strangers_name_leads_nowhere_else,
         a_file_that_exists_is_refused_before_the_start, a_file_that_only_the_pid_hits_is_kept,
         a_place_that_takes_no_file_is_replaced_and_told, a_place_that_is_not_there_is_refused,
         what_is_no_regular_file_is_refused, a_recording_that_cannot_be_written_goes_elsewhere,
         a_directory_is_no_file_name, two_sessions_that_claim_their_names_do_not_meet,
         reports_go_to_the_current_directory_or_beside_the_recording)
