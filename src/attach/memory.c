/* SPDX-License-Identifier: MIT */
#include "attach/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/page.h"
#include "attach/procfs.h"

#define MEMORY_USED (3ull << 62) /* in an entry of pagemap: present, or swapped out */

/* Whether PID has a descriptor of userfaultfd(). */
static bool is_watched(pid_t pid)
{
        static const char wanted[] = "anon_inode:[userfaultfd]";
        char path[64], to[sizeof wanted];
        struct dirent *entry;
        bool found = false;
        DIR *list;

        snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
        list = opendir(path);
        while (list && !found && (entry = readdir(list))) {
                snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid,
                         (int)strtol(entry->d_name, NULL, 10));
                found = readlink(path, to, sizeof to) == sizeof to - 1 &&
                        memcmp(to, wanted, sizeof to - 1) == 0;
        }
        if (list)
                closedir(list);
        return found;
}

void memory_open(struct memory *m, pid_t pid, pid_t tid)
{
        *m = (struct memory){ .tid = tid, .mem = procfs_open(pid, tid, "mem"),
                              .pagemap = procfs_open(pid, tid, "pagemap"),
                              .watched = is_watched(pid) };
}

/* A copy is watched by nobody. */
void memory_open_copy(struct memory *m, pid_t copy)
{
        memory_open(m, copy, copy);
        m->copy = true;
        m->watched = false;
}

void memory_close(struct memory *m)
{
        if (m->mem >= 0)
                close(m->mem);
        if (m->pagemap >= 0)
                close(m->pagemap);
        *m = MEMORY_CLOSED;
}

/* ---- reading ---- */

static size_t read_pages(const struct memory *m, uint64_t address, void *to, size_t bytes)
{
        struct iovec local = { to, bytes }, remote = { (void *)(uintptr_t)address, bytes };
        ssize_t got = process_vm_readv(m->tid, &local, 1, &remote, 1, 0);

        return got > 0 ? (size_t)got : 0;
}

/* Also what the process itself may not read. */
static size_t read_file(const struct memory *m, uint64_t address, void *to, size_t bytes)
{
        ssize_t got = m->mem >= 0 ? pread(m->mem, to, bytes, (off_t)address) : 0;

        return got > 0 ? (size_t)got : 0;
}

/* process_vm_readv() is quicker, but pins pages: the kernel (since 5.19) gives a copy pages of its
 * own first, each as if it were written.  That takes twice the time, and the memory twice. */
size_t memory_read(const struct memory *m, uint64_t address, void *to, size_t bytes)
{
        size_t done = 0, got;

        while (done < bytes) {
                char *at = (char *)to + done;

                got = m->copy ? read_file(m, address + done, at, bytes - done)
                              : read_pages(m, address + done, at, bytes - done);
                if (!got)
                        got = m->copy ? read_pages(m, address + done, at, bytes - done)
                                      : read_file(m, address + done, at, bytes - done);
                if (!got)
                        break;
                done += got;
        }
        return done;
}

/* What userfaultfd knows of: memory of no file, and that of files in memory. */
static bool may_be_watched(const struct mapping *of)
{
        return of->shared || of->path[0] != '/' || strncmp(of->path, "/memfd:", 7) == 0;
}

size_t memory_read_in(const struct memory *m, const struct mapping *of, uint64_t address, void *to,
                      size_t bytes)
{
        uint64_t end = address + bytes, at = address;
        const uint64_t size = page_bytes();

        if (!m->watched || !of || !may_be_watched(of))
                return memory_read(m, address, to, bytes);
        while (at < end) {
                uint64_t next = memory_next_page(m, at, end), behind = (next / size + 1) * size;
                size_t part = (size_t)((behind < end ? behind : end) - next), got;

                memset((char *)to + (at - address), 0, (size_t)(next - at));
                got = memory_read(m, next, (char *)to + (next - address), part);
                at = next + got;
                if (got < part)
                        break;
        }
        return at - address;
}

/* ---- where there is something ---- */

uint64_t memory_next_page(const struct memory *m, uint64_t address, uint64_t end)
{
        uint64_t entries[1024], page = address / page_bytes(),
                                last = (end + page_bytes() - 1) / page_bytes();
        const size_t most = sizeof entries / sizeof *entries;

        while (page < last) {
                size_t want = last - page < most ? last - page : most;
                ssize_t got = m->pagemap >= 0 ? pread(m->pagemap, entries, want * sizeof *entries,
                                                      (off_t)(page * sizeof *entries))
                                              : 0;

                if (got < (ssize_t)sizeof *entries)
                        return address > page * page_bytes() ? address : page * page_bytes();
                for (size_t i = 0; i < (size_t)got / sizeof *entries; i++, page++)
                        if (entries[i] & MEMORY_USED)
                                return address > page * page_bytes() ? address
                                                                     : page * page_bytes();
        }
        return end;
}

/* Without the right to open it all counts as data. */
uint64_t memory_next_data(const struct memory *m, const struct mapping *of, uint64_t address,
                          uint64_t end)
{
        char path[96];
        off_t wanted = (off_t)(address - of->start + of->offset), found = wanted;
        int fd;

        snprintf(path, sizeof path, "/proc/%d/map_files/%llx-%llx", (int)m->tid,
                 (unsigned long long)of->start, (unsigned long long)of->end);
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (fd >= 0) {
                found = lseek(fd, wanted, SEEK_DATA);
                if (found < 0)
                        found = errno == ENXIO ? INT64_MAX : wanted;
                close(fd);
        }
        return (uint64_t)(found - wanted) < end - address ? address + (uint64_t)(found - wanted)
                                                          : end;
}
