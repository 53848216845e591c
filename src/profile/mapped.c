/* SPDX-License-Identifier: MIT */
/*
 * mapped.c -- a file as bytes in memory, without a copy of it.
 *
 * Keeps:  the size of the moment of opening.  Recordings are replaced, never shortened in place, so
 *         what was mapped stays.  (A log that grows loses half a batch at its end when the disk is
 *         full; who reads it at that moment ends by SIGBUS.)
 */
#include "profile/mapped.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool map(struct mapped *m, const char *path, struct err *e)
{
        struct stat st;
        void *data;

        if (fstat(m->fd, &st))
                return err_sys(e, ERR_EXIT_BAD_FILE, "cannot read %s", path);
        if (S_ISDIR(st.st_mode))
                return err_set(e, ERR_EXIT_BAD_FILE, "%s is a directory: name a recording in it",
                               path);
        if (!S_ISREG(st.st_mode))
                return err_set(e, ERR_EXIT_BAD_FILE,
                               "%s is not a regular file: copy the recording to one first", path);
        if (!st.st_size) /* cannot be mapped */
                return true;
        data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, m->fd, 0);
        if (data == MAP_FAILED)
                return err_sys(e, ERR_EXIT_BAD_FILE, "cannot read %s", path);
        m->data = data;
        m->size = (size_t)st.st_size;
        return true;
}

bool mapped_open(struct mapped *m, const char *path, struct err *e)
{
        *m = (struct mapped){ .fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) };
        if (m->fd < 0)
                return err_sys(e, ERR_EXIT_BAD_FILE, "cannot open %s", path);
        if (map(m, path, e))
                return true;
        mapped_close(m);
        return false;
}

void mapped_close(struct mapped *m)
{
        if (m->data)
                munmap((void *)(uintptr_t)m->data, m->size);
        if (m->fd >= 0)
                close(m->fd);
        *m = (struct mapped){ .fd = -1 };
}

void mapped_pass(const uint8_t *bytes, size_t count)
{
        uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE),
                  first = ((uintptr_t)bytes + page - 1) & ~(page - 1),
                  end = ((uintptr_t)bytes + count) & ~(page - 1);

        if (first < end)
                madvise((void *)first, end - first, MADV_DONTNEED);
}
