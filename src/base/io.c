/* SPDX-License-Identifier: MIT */
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* At a time: for more the kernel looks for large pages to hold it, which takes it several times as
 * long as small ones (Linux 6.x, ext4). */
#define IO_PART ((size_t)64 << 10)

bool io_write(int fd, const void *bytes, size_t count)
{
        const char *p = bytes;

        while (count) {
                ssize_t n = write(fd, p, count < IO_PART ? count : IO_PART);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return false;
                p += n;
                count -= (size_t)n;
        }
        return true;
}

bool io_read(int fd, struct str *out)
{
        char part[16384];

        for (;;) {
                ssize_t n = read(fd, part, sizeof part);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return n == 0;
                str_bytes(out, part, (size_t)n);
        }
}

bool io_read_file(const char *path, struct str *out)
{
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        bool good;
        int saved;

        if (fd < 0)
                return false;
        good = io_read(fd, out);
        saved = errno;
        close(fd);
        errno = saved;
        return good;
}

bool io_read_at(int fd, void *to, size_t bytes, uint64_t at)
{
        for (size_t done = 0; done < bytes;) {
                ssize_t n = pread(fd, (char *)to + done, bytes - done, (off_t)(at + done));

                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return false;
                done += (size_t)n;
        }
        return true;
}
