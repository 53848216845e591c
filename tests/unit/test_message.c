/* SPDX-License-Identifier: MIT */
/*
 * test_message.c -- every line to the user begins "seep: ", and errors choose the exit status.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/message.h"
#include "tap.h"

/* What SAY writes to stderr. */
static const char *heard(void (*say)(void))
{
        static char text[4096];
        int kept = dup(STDERR_FILENO), ends[2];
        ssize_t length;

        if (kept < 0 || pipe(ends) != 0)
                abort();
        dup2(ends[1], STDERR_FILENO);
        close(ends[1]);
        say();
        dup2(kept, STDERR_FILENO);
        close(kept);
        length = read(ends[0], text, sizeof text - 1);
        close(ends[0]);
        text[length > 0 ? length : 0] = 0;
        return text;
}

static int status;

static void say_two_lines(void)
{
        message("one %d\ntwo", 1);
}

static void say_line_with_newline(void)
{
        message("ended\n");
}

static void say_error(void)
{
        struct err e = { .exit_code = ERR_EXIT_BAD_FILE, .text = "a.seep: not a recording" };

        status = message_error(&e);
}

static void say_error_without_status(void)
{
        struct err e = { .text = "odd" };

        status = message_error(&e);
}

static void say_usage(void)
{
        status = message_usage("report", "there is no option %s", "--x");
}

TEST(each_line_begins_with_our_name)
{
        is_text(heard(say_two_lines), "seep: one 1\nseep: two\n");
        is_text(heard(say_line_with_newline), "seep: ended\n");
}

TEST(an_error_gives_its_own_status)
{
        is_text(heard(say_error), "seep: a.seep: not a recording\n");
        is_equal(status, ERR_EXIT_BAD_FILE);
        is_text(heard(say_error_without_status), "seep: odd\n");
        is_equal(status, 1);
}

TEST(wrong_use_names_the_help)
{
        is_text(heard(say_usage), "seep: there is no option --x\nseep: 'seep help report' lists the options\n");
        is_equal(status, ERR_EXIT_USAGE);
}

TAP_MAIN(each_line_begins_with_our_name, an_error_gives_its_own_status, wrong_use_names_the_help)
