/* SPDX-License-Identifier: MIT */
/*
 * test_place.c -- files that appear whole or not at all, whatever others put in their way
 * meanwhile.
 */
#include "base/place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "tap.h"

static char folder[64];

static void enter(void)
{
        strcpy(folder, "/tmp/seep-place-XXXXXX");
        is_true(mkdtemp(folder) && chdir(folder) == 0);
}

static void leave(void)
{
        char command[128];

        snprintf(command, sizeof command, "/bin/rm -rf %s", folder);
        is_true(chdir("/") == 0 && system(command) == 0);
}

static void put(const char *name, const char *text)
{
        int fd = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0600);

        is_true(fd >= 0 && io_write(fd, text, strlen(text)) && close(fd) == 0);
}

static void holds(const char *name, const char *text)
{
        struct str found = { 0 };

        is_true(io_read_file(name, &found));
        is_text(str_get(&found), text);
        str_free(&found);
}

static int entries(void)
{
        DIR *all = opendir(".");
        int count = -2;

        while (all && readdir(all))
                count++;
        closedir(all);
        return count;
}

/* Look NAME up, then let PLANT do something, then fill it.  0, or errno. */
static int filled(const char *name, enum place_rule rule, void (*plant)(void))
{
        struct place p;
        int why = 0;

        if (!place_open(&p, name, rule))
                why = errno;
        else if (plant)
                plant();
        if (!why && !(place_begin(&p) >= 0 && io_write(p.fd, "new", 3) && place_end(&p)))
                why = errno;
        place_close(&p);
        return why;
}

static void plant_link(void)
{
        is_true(symlink("victim", "out") == 0);
}

static void swap_for_link(void)
{
        is_true(unlink("out") == 0 && symlink("victim", "out") == 0);
}

static void swap_folder(void)
{
        is_true(rename("sub", "moved") == 0 && mkdir("private", 0700) == 0 &&
                symlink("private", "sub") == 0);
        put("private/out", "mine");
}

TEST(a_new_name_is_filled_and_a_taken_one_refused)
{
        enter();
        is_equal(filled("out", PLACE_NEW, NULL), 0);
        holds("out", "new");
        is_equal(filled("out", PLACE_NEW, NULL), EEXIST);
        is_equal(filled(".", PLACE_NEW, NULL), EISDIR);
        is_equal(filled("", PLACE_NEW, NULL), ENOENT);
        is_equal(filled("none/out", PLACE_NEW, NULL), ENOENT);
        is_equal(entries(), 1);
        leave();
}

TEST(a_link_that_was_planted_is_never_followed)
{
        static const enum place_rule rules[] = { PLACE_NEW, PLACE_OURS, PLACE_NAMED };

        for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
                enter();
                put("victim", "mine");
                /* between the look and the end */
                is_equal(filled("out", rules[i], plant_link), EEXIST);
                holds("victim", "mine");
                is_equal(entries(), 2);
                leave();
        }
        enter();
        put("victim", "mine");
        put("out", "old");
        is_equal(filled("out", PLACE_NAMED, swap_for_link), EEXIST);
        is_equal(filled("out", PLACE_OURS, NULL), EEXIST);
        is_equal(filled("out", PLACE_NEW, NULL), EEXIST);
        holds("victim", "mine");
        leave();
}

TEST(a_link_that_the_user_named_is_followed_once)
{
        struct stat st;

        enter();
        put("victim", "mine");
        is_true(symlink("victim", "out") == 0);
        is_equal(filled("out", PLACE_NAMED, NULL), 0);
        holds("victim", "new");
        is_true(lstat("out", &st) == 0 && S_ISLNK(st.st_mode));
        is_true(unlink("victim") == 0);
        is_equal(filled("out", PLACE_NAMED, NULL), 0); /* it led nowhere yet */
        holds("victim", "new");
        is_true(symlink("round", "round") == 0);
        is_equal(filled("round", PLACE_NAMED, NULL), ELOOP);
        leave();
}

TEST(another_directory_in_the_place_of_the_first_does_not_matter)
{
        enter();
        is_true(mkdir("sub", 0700) == 0);
        is_equal(filled("sub/out", PLACE_NEW, swap_folder), 0);
        holds("private/out", "mine");
        holds("moved/out", "new");
        leave();
}

TEST(a_claimed_name_is_filled_later_or_withdrawn)
{
        struct place p, q;

        enter();
        is_true(place_open(&p, "out", PLACE_NEW) && place_claim(&p));
        is_true(!place_open(&q, "out", PLACE_NEW) && errno == EEXIST);
        place_close(&q);
        is_true(place_begin(&p) >= 0 && io_write(p.fd, "new", 3) && place_end(&p));
        place_withdraw(&p); /* it is not empty any more */
        holds("out", "new");
        place_close(&p);
        is_true(place_open(&p, "other", PLACE_NEW) && place_claim(&p));
        is_equal(entries(), 2);
        place_withdraw(&p);
        is_equal(entries(), 1);
        place_close(&p);
        leave();
}

TEST(what_is_not_finished_leaves_nothing)
{
        struct place p;

        enter();
        put("out", "old");
        is_true(place_open(&p, "out", PLACE_NAMED) && place_begin(&p) >= 0 &&
                io_write(p.fd, "half", 4));
        place_close(&p);
        holds("out", "old");
        is_equal(entries(), 1);
        leave();
}

TEST(a_private_file_stays_private_and_files_of_others_are_not_ours)
{
        struct stat st;

        enter();
        put("out", "old");
        is_equal(filled("out", PLACE_NAMED, NULL), 0);
        is_true(stat("out", &st) == 0 && (st.st_mode & 0777) == 0600);
        if (geteuid() == 0) {
                is_true(chown("out", 12345, 12345) == 0);
                is_equal(filled("out", PLACE_OURS, NULL), EEXIST);
                is_equal(filled("out", PLACE_NAMED, NULL), 0);
        }
        leave();
}

TEST(a_trap_of_another_user_is_not_walked_into)
{
        enter();
        put("victim", "mine");
        is_true(symlink("victim", "out") == 0);
        if (geteuid() == 0) {
                is_true(lchown("out", 12345, 12345) == 0 && chmod(".", 01777) == 0);
                is_equal(filled("out", PLACE_NAMED, NULL), ELOOP);
                is_equal(filled("out", PLACE_NEW, NULL), ELOOP);
                holds("victim", "mine");
                is_true(unlink("out") == 0 && symlink("/dev/null", "out") == 0 &&
                        lchown("out", 12345, 12345) == 0);
                is_equal(filled("out", PLACE_NEW, NULL), ELOOP);
        }
        leave();
}

TEST(a_directory_that_everybody_can_change_is_known)
{
        int fd;

        enter();
        fd = place_folder(".");
        is_true(fd >= 0 && place_takes_files(fd) && entries() == 0);
        is_true(!place_is_exposed(fd));
        is_true(chmod(".", 0777) == 0 && place_is_exposed(fd));
        is_true(chmod(".", 01777) == 0 && !place_is_exposed(fd));
        close(fd);
        leave();
}

/* The first bytes fit: the reason comes with the next ones. */
TEST(a_folder_with_room_for_less_than_a_file_says_why)
{
        struct rlimit before, small;
        int fd, why;

        enter();
        fd = place_folder(".");
        is_true(getrlimit(RLIMIT_FSIZE, &before) == 0);
        small = before;
        small.rlim_cur = 1024;
        is_true(setrlimit(RLIMIT_FSIZE, &small) == 0);
        errno = ENOTDIR; /* of something before */
        why = place_takes_files(fd) ? 0 : errno;
        is_true(setrlimit(RLIMIT_FSIZE, &before) == 0);
        is_equal(why, EFBIG);
        close(fd);
        leave();
}

TEST(devices_are_written_into)
{
        struct stat st;

        enter();
        is_equal(filled("/dev/null", PLACE_NEW, NULL), 0);
        is_equal(filled("/dev/null", PLACE_NAMED, NULL), 0);
        is_equal(filled("/dev/full", PLACE_NAMED, NULL), ENOSPC);
        is_true(stat("/dev/null", &st) == 0 && S_ISCHR(st.st_mode));
        leave();
}

TAP_MAIN(a_new_name_is_filled_and_a_taken_one_refused, a_link_that_was_planted_is_never_followed,
         a_link_that_the_user_named_is_followed_once,
         another_directory_in_the_place_of_the_first_does_not_matter,
         a_claimed_name_is_filled_later_or_withdrawn, what_is_not_finished_leaves_nothing,
         a_private_file_stays_private_and_files_of_others_are_not_ours,
         a_trap_of_another_user_is_not_walked_into, a_directory_that_everybody_can_change_is_known,
         a_folder_with_room_for_less_than_a_file_says_why, devices_are_written_into)
