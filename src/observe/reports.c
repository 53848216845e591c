/* SPDX-License-Identifier: MIT */
/*
 * reports.c -- files that tell what a snapshot found: PROGRAM-PID-SEQ.memlog.
 *
 * Room:   outside.
 */
#include "observe/reports.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/io.h"
#include "observe/output.h"

#define REPORTS_SUFFIX ".memlog"
#define REPORTS_NUMBERS_MAX 1000000u /* later than the first number that is tried */

static void make_name(const struct reports_place *place, const char *directory, uint32_t number, struct str *out)
{
        str_clear(out);
        str_format(out, "%s%s", directory, directory[strlen(directory) - 1] == '/' ? "" : "/");
        output_add_program(out, place->program);
        str_format(out, "-%u-%u" REPORTS_SUFFIX, place->pid, number);
}

/* A file without a name, filled before it gets one.  -1: this file system has none such, or no room. */
static int fill_nameless(const char *directory, const struct str *text)
{
        int fd = open(directory, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
        int saved;

        if (fd < 0 || io_write(fd, str_get(text), text->length))
                return fd;
        saved = errno;
        close(fd);
        errno = saved;
        return -1;
}

static bool fill_named(const char *name, const struct str *text)
{
        int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        int saved;
        bool good;

        if (fd < 0)
                return false;
        good = io_write(fd, str_get(text), text->length);
        saved = errno;
        close(fd);
        if (!good)
                unlink(name);
        errno = saved;
        return good;
}

/* NAMELESS may be -1. */
static bool give_name(int nameless, const char *name, const struct str *text)
{
        char link[64];

        snprintf(link, sizeof link, "/proc/self/fd/%d", nameless);
        if (nameless >= 0 && linkat(AT_FDCWD, link, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0)
                return true;
        return !(nameless >= 0 && errno == EEXIST) && fill_named(name, text);
}

static bool store_in(const struct reports_place *place, const char *directory, uint32_t seq, const struct str *text, struct str *name)
{
        int nameless = fill_nameless(directory, text);
        uint32_t number = seq;
        bool good;

        do {
                make_name(place, directory, number, name);
                good = give_name(nameless, name->data, text);
        } while (!good && errno == EEXIST && number++ - seq < REPORTS_NUMBERS_MAX);
        if (nameless >= 0) {
                int saved = errno;

                close(nameless);
                errno = saved;
        }
        if (good)
                output_give_to_user(name->data);
        return good;
}

static char *full_name(const char *name)
{
        char *full = realpath(name, NULL);

        return full ? full : heap_text(name);
}

bool reports_store(const struct reports_place *place, uint32_t seq, const struct str *text, char **path, struct err *e)
{
        struct str name = { 0 };
        bool good = store_in(place, place->directory, seq, text, &name);

        if (!good)
                err_sys(e, ERR_EXIT_FINDINGS, "cannot write a report to %s",
                        strcmp(place->directory, ".") == 0 ? "the current directory" : place->directory);
        for (int i = 0; !good && i < OUTPUT_FALLBACKS; i++) {
                const char *directory = output_fallback(i);

                good = directory && *directory && store_in(place, directory, seq, text, &name);
        }
        *path = good ? full_name(name.data) : NULL;
        str_free(&name);
        return good;
}

/* REPORTS_FROM_START: there is no such snapshot, or its mark had to be given up. */
static uint32_t slice_of(const struct profile *p, uint32_t seq)
{
        for (uint32_t i = 0; seq && i < p->mark_count; i++)
                if (p->marks[i].seq == seq)
                        return p->marks[i].slice;
        return REPORTS_FROM_START;
}

static void put_text(char *to, size_t room, const char *text)
{
        size_t length = strnlen(text, room - 1);

        memcpy(to, text, length);
        to[length] = 0;
}

void reports_write(const struct reports_author *author, const struct reports_place *place, const struct profile *p,
                   const struct reports_order *order, struct reports_result *out)
{
        uint32_t to = slice_of(p, order->seq);
        struct str text = { 0 };
        struct err e = { 0 };
        char *path = NULL;

        *out = (struct reports_result){ .seq = order->seq };
        if (to == REPORTS_FROM_START || to >= p->slice_count) {
                put_text(out->why, sizeof out->why, "there were more snapshots than can be kept");
                return;
        }
        author->write(author->context, p, slice_of(p, order->from_seq), to, &text);
        out->written = reports_store(place, order->seq, &text, &path, &e);
        out->elsewhere = out->written && e.text[0];
        put_text(out->why, sizeof out->why, e.text);
        put_text(out->path, sizeof out->path, path ? path : "");
        free(path);
        str_free(&text);
}
