/* SPDX-License-Identifier: MIT */
/*
 * test_message.c -- every line to the user begins "seep: " and fits into the terminal, and errors
 * choose the exit status.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "cli/message.h"
#include "tap.h"

/* A terminal of so many columns that changes nothing: ends[0] reads what is written to ends[1]. */
static bool open_terminal(int ends[2], unsigned short columns)
{
        struct winsize size = { .ws_row = 24, .ws_col = columns };
        struct termios modes;

        ends[0] = posix_openpt(O_RDWR | O_NOCTTY);
        if (ends[0] < 0 || grantpt(ends[0]) != 0 || unlockpt(ends[0]) != 0)
                return false;
        ends[1] = open(ptsname(ends[0]), O_RDWR | O_NOCTTY);
        if (ends[1] < 0 || ioctl(ends[1], TIOCSWINSZ, &size) != 0 ||
            tcgetattr(ends[1], &modes) != 0)
                return false;
        modes.c_oflag &= ~(tcflag_t)OPOST;
        return tcsetattr(ends[1], TCSANOW, &modes) == 0;
}

/* What SAY writes to stderr, a pipe (0) or a terminal of so many COLUMNS. */
static const char *heard_at(unsigned short columns, void (*say)(void))
{
        static char text[4096];
        int kept = dup(STDERR_FILENO), ends[2];
        ssize_t length;

        if (kept < 0 || (columns ? !open_terminal(ends, columns) : pipe(ends) != 0))
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

static const char *heard(void (*say)(void))
{
        return heard_at(0, say);
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

static void say_long_line(void)
{
        message("some words, /a/path/that/is/longer/than/a/line and two more");
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
        status = message_usage("report", "unknown option %s", "--x");
}

TEST(each_line_begins_with_our_name)
{
        is_text(heard(say_two_lines), "seep: one 1\nseep: two\n");
        is_text(heard(say_line_with_newline), "seep: ended\n");
}

TEST(lines_break_between_words_on_a_terminal)
{
        is_text(heard(say_long_line),
                "seep: some words, /a/path/that/is/longer/than/a/line and two more\n");
        is_text(heard_at(100, say_long_line),
                "seep: some words, /a/path/that/is/longer/than/a/line and two more\n");
        is_text(heard_at(20, say_long_line),
                "seep: some words,\n      /a/path/that/is/longer/than/a/line\n      and two "
                "more\n");
        is_text(heard_at(17, say_long_line),
                "seep: some words,\n      /a/path/that/is/longer/than/a/line\n      and two\n      "
                "more\n");
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
        is_text(heard(say_usage),
                "seep: unknown option --x\nseep: 'seep help report' lists the options\n");
        is_equal(status, ERR_EXIT_USAGE);
}

TAP_MAIN(each_line_begins_with_our_name, lines_break_between_words_on_a_terminal,
         an_error_gives_its_own_status, wrong_use_names_the_help)
