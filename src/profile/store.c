/* SPDX-License-Identifier: MIT */
/*
 * store.c -- bytes to a file, all or nothing.
 *
 * Room:   outside.
 * Keeps:  a failure leaves the old file and no temporary one.
 */
#include "profile/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/io.h"
#include "base/str.h"

#define STORE_TRIES 100

static bool write_into(const char *path, const void *bytes, size_t count, struct err *e)
{
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        bool good;

        if (fd < 0)
                return err_sys(e, ERR_EXIT_FINDINGS, "cannot open %s for writing", path);
        good = io_write(fd, bytes, count) || err_sys(e, ERR_EXIT_FINDINGS, "cannot write %s", path);
        close(fd);
        return good;
}

/* Create a file of our own in DIRECTORY; its name, which may be longer than PATH's, goes to NAME.  Mode 0666 less the
 * umask, as for any new file. */
static int create_beside(const char *directory, struct str *name)
{
        for (unsigned i = 0; i < STORE_TRIES; i++) {
                int fd;

                str_clear(name);
                str_format(name, "%s.seep-%ld-%u.tmp", directory, (long)getpid(), i);
                fd = open(name->data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
                if (fd >= 0 || errno != EEXIST)
                        return fd;
        }
        return -1;
}

/* The rename itself survives a crash of the machine; a file system that cannot do that is no error. */
static void sync_directory(const char *directory)
{
        int fd = open(*directory ? directory : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (fd < 0)
                return;
        fsync(fd);
        close(fd);
}

static bool flush(int fd)
{
        return !fsync(fd) || errno == EINVAL || errno == EROFS || errno == ENOSYS;
}

static bool replace(const char *path, const char *directory, const void *bytes, size_t count, struct err *e)
{
        struct str name = { 0 };
        int fd = create_beside(directory, &name);
        bool good;

        if (fd < 0) {
                str_free(&name);
                return err_sys(e, ERR_EXIT_FINDINGS, "cannot create %s", path);
        }
        good = io_write(fd, bytes, count) && flush(fd);
        good = good || err_sys(e, ERR_EXIT_FINDINGS, "cannot write %s (%zu bytes)", path, count);
        if (close(fd) && good)
                good = err_sys(e, ERR_EXIT_FINDINGS, "cannot write %s (%zu bytes)", path, count);
        if (good && rename(name.data, path))
                good = err_sys(e, ERR_EXIT_FINDINGS, "cannot rename %s to %s", name.data, path);
        if (good)
                sync_directory(directory);
        else
                unlink(name.data);
        str_free(&name);
        return good;
}

bool store_file(const char *path, const void *bytes, size_t count, struct err *e)
{
        char *target = realpath(path, NULL), *directory, *slash;
        struct stat st;
        bool good;

        if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
                free(target);
                if (S_ISDIR(st.st_mode))
                        return err_set(e, ERR_EXIT_FINDINGS, "cannot write %s: it is a directory", path);
                return write_into(path, bytes, count, e);
        }
        if (!target)
                target = heap_text(path);
        directory = heap_text(target);
        slash = strrchr(directory, '/');
        *(slash ? slash + 1 : directory) = 0;
        good = replace(target, directory, bytes, count, e);
        free(directory);
        free(target);
        return good;
}
