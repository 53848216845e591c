/* SPDX-License-Identifier: MIT */
/*
 * shelled.c -- keeps, loses and frees blocks as it is told, and says "done" to each line.
 *
 * Room:   tests only: what is done to it from outside happens between two lines.
 * Usage:  shelled [FILE]     lines come from FILE (a pipe, say), or from standard input:
 *         keep N SIZE, lose N SIZE, free N (of those that were kept last), end STATUS
 */
#include "leak.h"

#include <fcntl.h>
#include <stdio.h>

MAKER(kept)
MAKER(mislaid)

#define KEPT_MAX 1000
static void *shelf[KEPT_MAX];
static int on_shelf;

LEAK_ALONE static void keep(int n, size_t size)
{
        while (n-- > 0 && on_shelf < KEPT_MAX)
                shelf[on_shelf++] = kept(REACHABLE, size);
}

LEAK_ALONE static void lose(int n, size_t size)
{
        while (n-- > 0)
                mislaid(DEFINITE, size);
}

LEAK_ALONE static void release(int n)
{
        while (n-- > 0 && on_shelf > 0) {
                free(shelf[--on_shelf]);
                shelf[on_shelf] = NULL;
        }
}

/* Without stdio, whose buffers would be blocks of ours. */
static int read_line(int fd, char *line, size_t room)
{
        size_t used = 0;

        while (used + 1 < room) {
                ssize_t got = read(fd, line + used, 1);

                if (got < 0 && errno == EINTR)
                        continue;
                if (got <= 0)
                        return 0;
                if (line[used] == '\n')
                        break;
                used++;
        }
        line[used] = 0;
        return 1;
}

int main(int argc, char **argv)
{
        int fd = argc > 1 ? open(argv[1], O_RDWR) : 0, n;
        char line[128];
        size_t size;

        tell("ready\n");
        while (read_line(fd, line, sizeof line)) {
                if (sscanf(line, "keep %d %zu", &n, &size) == 2)
                        keep(n, size);
                else if (sscanf(line, "lose %d %zu", &n, &size) == 2)
                        lose(n, size);
                else if (sscanf(line, "free %d", &n) == 1)
                        release(n);
                else if (sscanf(line, "end %d", &n) == 1)
                        return n;
                leak_wipe();
                tell("done\n");
        }
        return 0;
}
