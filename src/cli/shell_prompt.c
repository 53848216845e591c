/* SPDX-License-Identifier: MIT */
/* shell_prompt.c -- `seep shell` on a terminal: the loop that reads and runs lines. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "cli/message.h"
#include "cli/shell.h"
#include "cli/shell_edit.h"

volatile sig_atomic_t shell_leaving;

/* Whoever waits for input waits for signals, too: also for one that came just before. */
static int bell[2] = { -1, -1 };

/* And for what happens at the target of this one, which keeps what has ended for a while only. */
static struct shell *waiting;

static void on_signal(int signal)
{
        int saved = errno;

        if (signal == SIGINT)
                shell_interrupted = 1;
        else
                shell_leaving = 1;
        if (write(bell[1], "", 1) < 0)
                errno = saved; /* it is full: it rings already */
}

/* What the commands do about signals is their own matter (shell_run.c). */
static void take_signals(void)
{
        struct sigaction interrupt = { .sa_handler = on_signal },
                         leave = { .sa_handler = on_signal };

        if (pipe2(bell, O_CLOEXEC | O_NONBLOCK) != 0)
                return; /* signals do what they do without us */
        sigaction(SIGINT, &interrupt, NULL);
        sigaction(SIGTERM, &leave, NULL);
        sigaction(SIGHUP, &leave, NULL);
        signal(SIGQUIT, SIG_IGN);
        signal(SIGPIPE, SIG_IGN);
}

enum shell_edited shell_edit_wait(void)
{
        struct pollfd from[] = { { .fd = STDIN_FILENO, .events = POLLIN },
                                 { .fd = bell[0], .events = POLLIN },
                                 { .fd = -1, .events = POLLIN } };
        char rung[64];

        for (;;) {
                from[2].fd = shell_far_bell(waiting);
                from[2].revents = 0;
                if (shell_leaving)
                        return SHELL_OVER;
                if (shell_interrupted)
                        return SHELL_INTERRUPTED;
                if (poll(from, 3, -1) < 0 && errno != EINTR)
                        return SHELL_OVER;
                if (from[2].revents)
                        shell_far_rung(waiting);
                if (from[1].revents)
                        while (read(bell[0], rung, sizeof rung) > 0)
                                continue;
                else if (from[0].revents)
                        return SHELL_EDITED;
        }
}

static void do_line(struct shell *s, struct shell_editor *editor, struct str *line)
{
        bool worked;

        while (line->length && strchr(" \t", line->data[line->length - 1]))
                line->data[--line->length] = 0; /* a completed word has a space behind it */
        if (line->length >= SHELL_LINE_MAX || memchr(str_get(line), 0, line->length)) {
                message("that is no command: %s", line->length >= SHELL_LINE_MAX
                                                          ? "it is longer than 1 MiB"
                                                          : "there is a NUL byte in it");
                return;
        }
        shell_do(s, str_get(line), &worked);
        if (worked && strspn(str_get(line), " \t;") < line->length)
                shell_edit_remember(editor, str_get(line));
}

void shell_prompt(struct shell *s)
{
        struct shell_editor *editor;
        struct str line = { 0 };

        waiting = s;
        take_signals();
        editor = shell_edit_open(s);
        while (!s->left && !shell_leaving) {
                enum shell_edited got;

                shell_interrupted = 0;
                shell_target_watch(s);
                got = shell_edit_line(editor, &line);
                if (got != SHELL_EDITED && !shell_leaving)
                        io_write(STDOUT_FILENO, "\n", 1);
                if (got == SHELL_OVER)
                        break;
                if (got == SHELL_EDITED)
                        do_line(s, editor, &line);
        }
        shell_edit_close(editor);
        str_free(&line);
}
