/* SPDX-License-Identifier: MIT */
/*
 * watched.c -- memory that userfaultfd watches, and nobody who answers: who touches a page that is
 * not there waits for ever.
 *
 * Room:   tests only.  One block is held from a page that is there, another one is lost.
 */
#include "truth.h"

#include <linux/userfaultfd.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum { BYTES = 64 << 16, HELD = 3333, LOST = 12345 };

static void **area, *block;

static int watch(int fd, void *start)
{
        struct uffdio_register r = {
                .range = {(uintptr_t)start, BYTES},
                .mode = UFFDIO_REGISTER_MODE_MISSING,
        };

        return ioctl(fd, UFFDIO_REGISTER, &r);
}

int main(void)
{
        struct uffdio_api api = {.api = UFFD_API};
        int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC), may = fd >= 0;
        void *volatile lost = malloc(LOST);

        if (may && ioctl(fd, UFFDIO_API, &api))
                truth_die("watched: userfaultfd\n");
        block = aligned_alloc(1 << 16, BYTES); /* in a mapping of its own */
        area = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (!block || area == MAP_FAILED)
                truth_die("watched: no memory\n");
        area[BYTES / 2 / sizeof *area] = malloc(HELD);
        if (may && (watch(fd, area) || watch(fd, block)))
                truth_die("watched: cannot register\n");
        lost = NULL;
        truth_say("fact may=%d\n", may);
        truth_say("fact lost=%d\n", LOST);
        truth_say("fact reachable=%d\n", BYTES + HELD);
        return lost != NULL;
}
