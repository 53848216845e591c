/* SPDX-License-Identifier: MIT */
/*
 * pager.c -- results to the terminal: colour, and a pager when they are long.
 *
 * Room:   outside, cli/ only.
 */
#include "cli/pager.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"

bool pager_color_named(const char *word, enum pager_color *color)
{
        static const char *const words[] = { "auto", "always", "never" };

        for (int i = 0; i < 3; i++)
                if (strcmp(word, words[i]) == 0) {
                        *color = (enum pager_color)i;
                        return true;
                }
        return false;
}

bool pager_color(enum pager_color wanted, int fd)
{
        const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

        if (wanted != PAGER_COLOR_AUTO)
                return wanted == PAGER_COLOR_ALWAYS;
        return isatty(fd) && !(no && no[0]) && term && strcmp(term, "dumb") != 0;
}

uint32_t pager_columns(void)
{
        struct winsize size;

        if (!isatty(STDOUT_FILENO))
                return 0;
        return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
}

/* A reader that closes early must not end us by a signal: `seep report | head` is fine. */
static bool pager_write(int fd, const struct str *text)
{
        void (*before)(int) = signal(SIGPIPE, SIG_IGN);
        bool good = io_write(fd, str_get(text), text->length) || errno == EPIPE;
        int saved = errno;

        signal(SIGPIPE, before);
        errno = saved;
        return good;
}

static const char *pager_command(void)
{
        const char *own = getenv("SEEP_PAGER"), *general = getenv("PAGER");

        if (own)
                return own;
        return general ? general : "less -FRX";
}

static void pager_run(const char *command, int input)
{
        if (dup2(input, STDIN_FILENO) < 0)
                _exit(127);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
}

/* false: the pager did not take the text (it is not installed, say). */
static bool pager_feed(const char *command, const struct str *text)
{
        void (*before)(int);
        int ends[2], status = 0;
        pid_t pid;

        if (pipe(ends) != 0)
                return false;
        pid = fork();
        if (pid == 0) {
                close(ends[1]);
                pager_run(command, ends[0]);
        }
        before = signal(SIGINT, SIG_IGN); /* Ctrl-C is for the pager */
        close(ends[0]);
        if (pid > 0)
                pager_write(ends[1], text);
        close(ends[1]);
        while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
                continue;
        signal(SIGINT, before);
        if (pid < 0)
                return false;
        return !(WIFEXITED(status) && (WEXITSTATUS(status) == 126 || WEXITSTATUS(status) == 127));
}

bool pager_show(const struct str *text, bool plain)
{
        const char *command = pager_command();

        if (!plain && isatty(STDOUT_FILENO) && command[0] && strcmp(command, "cat") != 0 && pager_feed(command, text))
                return true;
        return pager_write(STDOUT_FILENO, text);
}
