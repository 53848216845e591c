/* SPDX-License-Identifier: MIT */
#include "cli/pager.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"

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

bool pager_open(struct pager *p, bool plain)
{
        const char *command = pager_command();
        int ends[2];

        if (plain || !isatty(STDOUT_FILENO) || !command[0] || strcmp(command, "cat") == 0 ||
            pipe(ends) != 0)
                return false;
        p->pid = fork();
        if (p->pid == 0) {
                close(ends[1]);
                pager_run(command, ends[0]);
        }
        close(ends[0]);
        p->fd = ends[1];
        if (p->pid < 0) {
                close(p->fd);
                return false;
        }
        p->before = signal(SIGINT, SIG_IGN); /* Ctrl-C is for the pager */
        return true;
}

bool pager_close(struct pager *p)
{
        int status = 0;

        close(p->fd);
        while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
                continue;
        signal(SIGINT, p->before);
        return !(WIFEXITED(status) && (WEXITSTATUS(status) == 126 || WEXITSTATUS(status) == 127));
}

bool pager_show(const struct str *text, bool plain)
{
        struct pager p;

        if (pager_open(&p, plain)) {
                pager_write(p.fd, text);
                if (pager_close(&p))
                        return true;
        }
        return pager_write(STDOUT_FILENO, text);
}
