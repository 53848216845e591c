/* SPDX-License-Identifier: MIT */
/* filters.c -- filters of system calls, as far as agents must know of them. */
#include "session/filters.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attach/arch/registers.h"
#include "attach/procfs.h"
#include "attach/sandbox.h"
#include "base/io.h"
#include "base/str.h"
#include "wire/filters.h"
#include "wire/hello.h"

static uint32_t depth_of(pid_t pid)
{
        return (uint32_t)procfs_status(pid, pid, "Seccomp_filters", 10, WIRE_FILTERS_UNKNOWN);
}

static void put(struct str *out, uint16_t code, uint8_t yes, uint32_t k)
{
        struct wire_instruction i = { .code = code, .yes = yes, .k = k };

        str_bytes(out, &i, sizeof i);
}

/* How filters know this processor. */
#define OWN_AUDIT                                                              \
        (FREEZE_MACHINE | (sizeof(long) == 8 ? __AUDIT_ARCH_64BIT : 0u) |      \
         (WIRE_BIG_ENDIAN ? 0u : __AUDIT_ARCH_LE))

/* A filter that kills at each of NUMBERS.  These are calls of this processor: which of another one,
 * or of the other word size, would be the end of a program was not tried, so it kills at all. */
static void write_filter(struct str *out, const uint32_t *numbers, uint32_t count)
{
        uint32_t length = count + 6;

        str_bytes(out, &length, sizeof length);
        put(out, BPF_LD | BPF_W | BPF_ABS, 0, offsetof(struct seccomp_data, arch));
        put(out, BPF_JMP | BPF_JEQ | BPF_K, 1, OWN_AUDIT);
        put(out, BPF_RET | BPF_K, 0, WIRE_FILTER_KILL);
        put(out, BPF_LD | BPF_W | BPF_ABS, 0, 0);
        for (uint32_t i = 0; i < count; i++)
                put(out, BPF_JMP | BPF_JEQ | BPF_K, (uint8_t)(count - i), numbers[i]);
        put(out, BPF_RET | BPF_K, 0, WIRE_FILTER_ALLOW);
        put(out, BPF_RET | BPF_K, 0, WIRE_FILTER_KILL);
}

static bool write_file(const char *directory, const struct str *content)
{
        struct str path = { 0 };
        bool good;
        int fd;

        str_format(&path, "%s/" WIRE_FILTERS_NAME "%08x", directory, 0);
        fd = open(str_get(&path), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        good = fd >= 0 && io_write(fd, content->data, content->length);
        if (fd >= 0)
                close(fd);
        str_free(&path);
        return good;
}

uint32_t filters_tell(const char *directory)
{
        uint32_t numbers[PROBE_MAX];
        struct wire_filters head = { .magic = WIRE_FILTERS_MAGIC };
        struct str content = { 0 };
        size_t count;
        bool good;

        if (!procfs_status(getpid(), getpid(), "Seccomp", 10, 0))
                return 0;
        count = probe_forbidden(numbers);
        head.depth = depth_of(getpid());
        head.count = count > 0;
        str_bytes(&content, &head, sizeof head);
        if (count)
                write_filter(&content, numbers, (uint32_t)count);
        good = write_file(directory, &content);
        str_free(&content);
        return good ? WIRE_F_FILTERS : 0;
}

void filters_remove(int directory)
{
        int again = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *all = again >= 0 ? fdopendir(again) : NULL;

        for (struct dirent *d; all && (d = readdir(all));)
                if (strncmp(d->d_name, WIRE_FILTERS_NAME, sizeof WIRE_FILTERS_NAME - 1) == 0)
                        unlinkat(directory, d->d_name, 0);
        if (all)
                closedir(all);
        else if (again >= 0)
                close(again);
}

void filters_look(const struct view *v, pid_t pid)
{
        uint64_t mode = procfs_status(pid, pid, "Seccomp", 10, 0);
        uint32_t depth = mode == 2 ? depth_of(pid) : mode ? WIRE_FILTERS_UNKNOWN : 0;

        if (depth != v->head.filters)
                view_filters(v, depth);
}
