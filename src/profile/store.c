/* SPDX-License-Identifier: MIT */
#include "profile/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/io.h"
#include "profile/format.h"

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

/* What took the name, for the message: most often another run with the same -o. */
static bool is_recording(const struct place *place)
{
        int fd = openat(place->directory, place->name,
                        O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        char magic[FORMAT_MAGIC_BYTES];
        bool is = fd >= 0 && pread(fd, magic, sizeof magic, 0) == (ssize_t)sizeof magic &&
                  memcmp(magic, FORMAT_MAGIC, sizeof magic) == 0;

        if (fd >= 0)
                close(fd);
        return is;
}

bool store_at(struct place *place, const struct store_part *list, size_t count, struct err *e)
{
        const struct parts parts = { list, count };
        int fd = place_begin(place);

        if (fd < 0)
                return err_sys(e, ERR_EXIT_FINDINGS, "cannot create %s", place->path);
        if (!write_parts(fd, &parts))
                return err_sys(e, ERR_EXIT_FINDINGS, "cannot write %s (%llu bytes)", place->path,
                               parts_bytes(&parts));
        if (place_end(place))
                return true;
        if (errno == EEXIST)
                return err_set(
                        e, ERR_EXIT_FINDINGS,
                        is_recording(place)
                                ? "another recording was written to %s in the meantime"
                                : "cannot write %s: something else was put there in the meantime",
                        place->path);
        return err_sys(e, ERR_EXIT_FINDINGS, "cannot write %s (%llu bytes)", place->path,
                       parts_bytes(&parts));
}
