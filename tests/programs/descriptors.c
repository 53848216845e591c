/* SPDX-License-Identifier: MIT */
/*
 * descriptors.c -- counts its descriptors, lists their targets, closes every one but 0-2, and goes
 * on allocating.
 *
 * Room:   tests only.  The truth is known beforehand and told before descriptor 3 is closed.
 */
#include "truth.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* getdents64 by hand: opendir would allocate. */
static int open_count(void)
{
        char buffer[4096];
        int fd = open("/proc/self/fd", O_RDONLY | O_DIRECTORY), count = 0;
        long n;
        while ((n = syscall(SYS_getdents64, fd, buffer, sizeof buffer)) > 0)
                for (long at = 0; at < n;) {
                        struct dirent64 *d = (struct dirent64 *)(buffer + at);
                        count += d->d_name[0] != '.';
                        at += d->d_reclen;
                }
        close(fd);
        return count;
}

static int next_descriptor(void)
{
        int fd = open("/dev/null", O_RDONLY);
        close(fd);
        return fd;
}

static void *kept[3000];

static void work(int from, int to)
{
        for (int i = from; i < to; i++)
                kept[i] = malloc(20);
}

int main(void)
{
        struct rlimit limit;
        truth_say("fact blocks=3000 bytes=60000\n");
        tell("open at the start: %d, next %d\n", open_count(), next_descriptor());
        work(0, 1000);
        tell("open after work: %d, next %d\n", open_count(), next_descriptor());
        getrlimit(RLIMIT_NOFILE, &limit);
        for (int fd = 3; fd < (int)limit.rlim_cur && fd < 70000; fd++)
                close(fd);
        work(1000, 2000);
        tell("open after closing: %d, next %d\n", open_count(), next_descriptor());
        syscall(SYS_close_range, 3u, ~0u, 0u);
        work(2000, 3000);
        tell("open at the end: %d, next %d\n", open_count(), next_descriptor());
        return 0;
}
