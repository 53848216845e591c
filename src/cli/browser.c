/* SPDX-License-Identifier: MIT */
/*
 * browser.c -- a page shown in the user's browser, which goes on when we end.
 *
 * Room:   outside, cli/ only.
 */
#include "cli/browser.h"

#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/heap.h"

extern char **environ;

/* Start PROGRAM with URL, in a session of its own and without our terminal. */
static bool start(const char *program, const char *url)
{
        char *words[] = { (char *)program, (char *)url, NULL };
        posix_spawn_file_actions_t files;
        posix_spawnattr_t how;
        pid_t pid;
        bool good;

        posix_spawn_file_actions_init(&files);
        posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
        posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
        posix_spawnattr_init(&how);
        posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSID);
        good = posix_spawnp(&pid, program, &files, &how, words, environ) == 0;
        posix_spawnattr_destroy(&how);
        posix_spawn_file_actions_destroy(&files);
        return good;
}

bool browser_open(const char *url)
{
        const char *list = getenv("BROWSER");
        char *copy = heap_text(list ? list : ""), *rest = copy, *program;
        bool good = false;

        while (!good && (program = strsep(&rest, ":")))
                good = *program && start(program, url);
        free(copy);
        if (good || !(getenv("DISPLAY") || getenv("WAYLAND_DISPLAY")))
                return good;
        return start("xdg-open", url);
}

void browser_file_url(const char *path, struct str *out)
{
        static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
        char *full = realpath(path, NULL);

        str_text(out, "file://");
        for (const char *c = full ? full : path; *c; c++)
                if (strchr(plain, *c))
                        str_char(out, *c);
                else
                        str_format(out, "%%%02X", (unsigned char)*c);
        free(full);
}
