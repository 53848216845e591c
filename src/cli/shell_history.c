/* SPDX-License-Identifier: MIT */
#include "cli/shell_history.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/io.h"
#include "base/str.h"
#include "cli/config.h"

enum { HISTORY_LINES = 1000, HISTORY_LINE_MAX = 4096 };

/* Its folders are made.  "": there is no place for it. */
static void find_path(struct str *out)
{
        const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

        if (config_is_raised() || ((!state || *state != '/') && (!home || *home != '/')))
                return;
        if (state && *state == '/')
                str_text(out, state);
        else
                str_format(out, "%s/.local/state", home);
        str_text(out, "/seep");
        for (char *slash = strchr(out->data + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
                *slash = 0;
                mkdir(out->data, 0700);
                *slash = '/';
        }
        mkdir(out->data, 0700);
        str_text(out, "/history");
}

/* Ours, and nobody else's to read. */
static int open_file(const char *path)
{
        int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                      0600);
        struct stat st;

        if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
            fchmod(fd, 0600) == 0)
                return fd;
        if (fd >= 0)
                close(fd);
        return -1;
}

static void forget(struct shell_history *h, uint32_t at)
{
        free(h->lines[at]);
        h->count--;
        memmove(h->lines + at, h->lines + at + 1, (h->count - at) * sizeof *h->lines);
}

/* LINE is the newest.  Returns whether something went for it. */
static bool put(struct shell_history *h, const char *line)
{
        uint32_t before = h->count;

        for (uint32_t i = 0; i < h->count && h->count == before; i++)
                if (strcmp(h->lines[i], line) == 0)
                        forget(h, i);
        if (h->count == HISTORY_LINES)
                forget(h, 0);
        h->lines = heap_grow(h->lines, h->count + 1, sizeof *h->lines);
        h->lines[h->count++] = heap_text(line);
        return h->count <= before;
}

/* What is in the file now, also by other shells.  Returns whether it has more than it should. */
static bool take_file(struct shell_history *h)
{
        struct str all = { 0 };
        bool more = false;
        char *save = NULL;

        if (lseek(h->fd, 0, SEEK_SET) == 0 && io_read(h->fd, &all) && all.length)
                for (char *line = strtok_r(all.data, "\n", &save); line;
                     line = strtok_r(NULL, "\n", &save))
                        more |= strlen(line) > HISTORY_LINE_MAX || put(h, line);
        str_free(&all);
        return more;
}

static void write_all(const struct shell_history *h)
{
        struct str all = { 0 };

        for (uint32_t i = 0; i < h->count; i++)
                str_format(&all, "%s\n", h->lines[i]);
        if (ftruncate(h->fd, 0) == 0)
                io_write(h->fd, str_get(&all), all.length);
        str_free(&all);
}

static void forget_all(struct shell_history *h)
{
        while (h->count)
                forget(h, h->count - 1);
}

void shell_history_open(struct shell_history *h)
{
        struct str path = { 0 };

        *h = (struct shell_history){ .fd = -1 };
        find_path(&path);
        if (path.length)
                h->fd = open_file(str_get(&path));
        if (h->fd >= 0)
                take_file(h);
        str_free(&path);
}

void shell_history_close(struct shell_history *h)
{
        forget_all(h);
        free(h->lines);
        if (h->fd >= 0)
                close(h->fd);
        *h = (struct shell_history){ .fd = -1 };
}

void shell_history_add(struct shell_history *h, const char *line)
{
        struct str text = { 0 };
        bool more = false;

        if (strlen(line) > HISTORY_LINE_MAX || strchr(line, '\n'))
                return;
        if (h->fd >= 0 && flock(h->fd, LOCK_EX) == 0) {
                forget_all(h);
                more = take_file(h);
        }
        more |= put(h, line);
        str_format(&text, "%s\n", line);
        if (h->fd >= 0 && more)
                write_all(h);
        else if (h->fd >= 0)
                io_write(h->fd, str_get(&text), text.length);
        if (h->fd >= 0)
                flock(h->fd, LOCK_UN);
        str_free(&text);
}
