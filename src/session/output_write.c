/* SPDX-License-Identifier: MIT */
/* output_write.c -- writing recordings to the places that output.c found, or elsewhere. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/io.h"
#include "profile/events_log.h"
#include "profile/file.h"
#include "session/output_parts.h"

/* A log gets the first free number: where so many are free, no more are there. */
#define OUTPUT_LOG_GAP 4u

/* The recording C was replaced: what is left of logs of earlier ones, whose observers
 * were killed, goes with it. */
static void remove_logs(const struct output_claim *c)
{
        uint32_t free_names = 0;

        for (uint32_t try = 1; try <= EVENTS_LOG_TRIES && free_names < OUTPUT_LOG_GAP; try++) {
                char *name = events_log_name(c->path, try);
                int fd = openat(c->folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
                struct place p = PLACE_NONE;

                if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
                    place_at(&p, c->folder, name, PLACE_OURS)) {
                        p.owner = c->owner;
                        if (place_check(&p))
                                unlinkat(c->folder, name, 0);
                }
                place_close(&p);
                free_names = fd < 0 ? free_names + 1 : 0;
                if (fd >= 0)
                        close(fd);
                free(name);
        }
}

/* TAKEN: somebody has put something else there since the name was given. */
static bool write_to(struct output *o, const struct profile *p, const char *path, bool *taken,
                     struct err *e)
{
        struct output_claim *c = output_find_claim(o, path);
        struct place to;
        bool good;

        if (c && output_open_claim(o, c, &to))
                good = file_write_at(p, &to, e);
        else
                good = err_sys(e, ERR_EXIT_FINDINGS, "cannot create %s", path);
        *taken = c && !good && !place_check(&to) && errno == EEXIST;
        if (good)
                c->made = true;
        if (good && o->force)
                remove_logs(c);
        if (c)
                place_close(&to);
        return good;
}

/* In DIRECTORY (NULL: the same one, under another name). */
static bool write_elsewhere(struct output *o, const struct profile *p, char **path,
                            const char *directory)
{
        char *wanted = directory ? output_moved(directory, *path) : heap_text(*path);
        char *there = output_reserve(o, wanted, 0);
        struct err later;
        bool taken, good = write_to(o, p, there, &taken, &later);

        if (!good)
                output_withdraw(o, output_find_claim(o, there));
        if (good) {
                free(*path);
                *path = heap_text(there);
        }
        free(there);
        return good;
}

bool output_write(struct output *o, const struct profile *p, char **path, bool elsewhere,
                  struct err *why)
{
        const struct output_claim *c = output_find_claim(o, *path);
        bool taken, good = write_to(o, p, *path, &taken, why);

        if (good || !elsewhere)
                return good;
        if (c)
                output_withdraw(o, c);
        good = taken && write_elsewhere(o, p, path, NULL);
        for (int i = 0; !good && i < OUTPUT_FALLBACKS; i++) {
                const char *directory = output_fallback(i);

                good = directory && *directory && write_elsewhere(o, p, path, directory);
        }
        return good;
}

static bool copy_bytes(int from, int to)
{
        static char bytes[1 << 16];
        ssize_t got;

        for (off_t at = 0; (got = pread(from, bytes, sizeof bytes, at)) != 0; at += got)
                if (got < 0 || !io_write(to, bytes, (size_t)got))
                        return false;
        return true;
}

bool output_copy(struct output *o, int from, const char *path, struct err *e)
{
        struct output_claim *c = output_find_claim(o, path);
        struct place to = PLACE_NONE;
        bool good = c && output_open_claim(o, c, &to) && place_begin(&to) >= 0 &&
                    copy_bytes(from, to.fd) && place_end(&to);

        if (good)
                c->made = true;
        else
                place_refuse(path, ERR_EXIT_FINDINGS, e);
        place_close(&to);
        return good;
}
