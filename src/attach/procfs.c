/* SPDX-License-Identifier: MIT */
/*
 * procfs.c -- what the kernel tells about a process and its threads.
 *
 * Room:   outside.
 */
#include "attach/procfs.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"

int procfs_open(pid_t pid, pid_t tid, const char *file)
{
        char path[96];

        snprintf(path, sizeof path, "/proc/%d/task/%d/%s", (int)pid, (int)tid, file);
        return open(path, O_RDONLY | O_CLOEXEC);
}

bool procfs_text(pid_t pid, pid_t tid, const char *file, struct str *out)
{
        int fd = procfs_open(pid, tid, file);
        bool good = fd >= 0 && io_read(fd, out);

        if (fd >= 0)
                close(fd);
        return good;
}

uint64_t procfs_status(pid_t pid, pid_t tid, const char *key, int base, uint64_t fallback)
{
        struct str text = { 0 };
        const char *line = NULL, *word;
        size_t length = strlen(key);

        if (procfs_text(pid, tid, "status", &text))
                for (line = str_get(&text); line && !(strncmp(line, key, length) == 0 && line[length] == ':'); line += line != NULL)
                        line = strchr(line, '\n');
        if (line) {
                word = line + strcspn(line, "\n");
                while (word > line && !strchr("\t :", word[-1]))
                        word--;
                fallback = strtoull(word, NULL, base);
        }
        str_free(&text);
        return fallback;
}

/* "PID (NAME) STATE ...", where NAME may hold anything, also parentheses. */
char procfs_state(pid_t pid, pid_t tid)
{
        struct str text = { 0 };
        const char *end = procfs_text(pid, tid, "stat", &text) ? strrchr(str_get(&text), ')') : NULL;
        char state = end && end[1] == ' ' && end[2] ? end[2] : 'X';

        str_free(&text);
        return state;
}

const char *procfs_name(pid_t pid, char out[PROCFS_NAME_BYTES])
{
        struct str text = { 0 };

        procfs_text(pid, pid, "comm", &text);
        snprintf(out, PROCFS_NAME_BYTES, "%.*s", (int)strcspn(str_get(&text), "\n"), str_get(&text));
        str_free(&text);
        return *out ? out : strcpy(out, "?");
}
