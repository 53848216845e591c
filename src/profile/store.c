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

struct parts {
        const struct store_part *part;
        size_t count;
};

static bool copy_bytes(int from, uint64_t offset, uint64_t count, int to)
{
        static const size_t step = 1u << 20;
        char *buffer = heap_zero(step, 1);
        bool good = true;

        while (good && count) {
                size_t want = count < step ? (size_t)count : step;
                ssize_t n = pread(from, buffer, want, (off_t)offset);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n == 0)
                        errno = EIO; /* it was longer before */
                good = n > 0 && io_write(to, buffer, (size_t)n);
                offset += n > 0 ? (uint64_t)n : 0;
                count -= n > 0 ? (uint64_t)n : 0;
        }
        free(buffer);
        return good;
}

/* In the kernel if it can: some file systems then share the blocks instead of copying them. */
static bool copy_part(const struct store_part *p, int to)
{
        off_t offset = (off_t)p->offset;
        uint64_t left = p->count;

        while (left) {
                ssize_t n = copy_file_range(p->fd, &offset, to, NULL, left, 0);

                if (n <= 0)
                        break;
                left -= (uint64_t)n;
        }
        return !left || copy_bytes(p->fd, (uint64_t)offset, left, to);
}

static bool write_parts(int fd, const struct parts *p)
{
        for (size_t i = 0; i < p->count; i++) {
                const struct store_part *one = &p->part[i];

                if (one->bytes ? !io_write(fd, one->bytes, one->count) : !copy_part(one, fd))
                        return false;
        }
        return true;
}

static unsigned long long parts_bytes(const struct parts *p)
{
        unsigned long long bytes = 0;

        for (size_t i = 0; i < p->count; i++)
                bytes += p->part[i].count;
        return bytes;
}

static bool write_into(const char *path, const struct parts *parts, struct err *e)
{
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        bool good;

        if (fd < 0)
                return err_sys(e, ERR_EXIT_FINDINGS, "cannot open %s for writing", path);
        good = write_parts(fd, parts) || err_sys(e, ERR_EXIT_FINDINGS, "cannot write %s", path);
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

static bool replace(const char *path, const char *directory, const struct parts *parts, struct err *e)
{
        struct str name = { 0 };
        int fd = create_beside(directory, &name);
        bool good;

        if (fd < 0) {
                str_free(&name);
                return err_sys(e, ERR_EXIT_FINDINGS, "cannot create %s", path);
        }
        good = write_parts(fd, parts) && flush(fd);
        good = good || err_sys(e, ERR_EXIT_FINDINGS, "cannot write %s (%llu bytes)", path, parts_bytes(parts));
        if (close(fd) && good)
                good = err_sys(e, ERR_EXIT_FINDINGS, "cannot write %s (%llu bytes)", path, parts_bytes(parts));
        if (good && rename(name.data, path))
                good = err_sys(e, ERR_EXIT_FINDINGS, "cannot rename %s to %s", name.data, path);
        if (good)
                sync_directory(directory);
        else
                unlink(name.data);
        str_free(&name);
        return good;
}

bool store_parts(const char *path, const struct store_part *list, size_t count, struct err *e)
{
        const struct parts parts = { list, count };
        char *target = realpath(path, NULL), *directory, *slash;
        struct stat st;
        bool good;

        if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
                free(target);
                if (S_ISDIR(st.st_mode))
                        return err_set(e, ERR_EXIT_FINDINGS, "cannot write %s: it is a directory", path);
                return write_into(path, &parts, e);
        }
        if (!target)
                target = heap_text(path);
        directory = heap_text(target);
        slash = strrchr(directory, '/');
        *(slash ? slash + 1 : directory) = 0;
        good = replace(target, directory, &parts, e);
        free(directory);
        free(target);
        return good;
}

bool store_file(const char *path, const void *bytes, size_t count, struct err *e)
{
        const struct store_part all = { .bytes = bytes, .count = count };

        return store_parts(path, &all, 1, e);
}
