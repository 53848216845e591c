/* SPDX-License-Identifier: MIT */
/*
 * gate.c -- a library for seep itself: before it looks for the blocks in a ledger for the last
 * time, it waits until the program has gone on, if the program can.
 *
 * Room:   tests only.  GATE_FILE has the events of the program as its first word, GATE_MS says from
 * when on seep waits; it waits for GATE_EVENTS more of them, and for half a second in all: a
 * program that stands still is waited for in vain.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { GATE_EVENTS = 200, GATE_PATIENCE_MS = 500 };

static const volatile uint64_t *events;
static int64_t from_ms, waited_ms;
static pid_t own;

static int64_t now_ms(void)
{
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

__attribute__((constructor)) static void begin(void)
{
        const char *file = getenv("GATE_FILE"), *after = getenv("GATE_MS");
        int fd = file && after && strcmp(program_invocation_short_name, "seep") == 0
                         ? open(file, O_RDONLY | O_CLOEXEC)
                         : -1;
        void *words = fd < 0 ? MAP_FAILED
                             : mmap(NULL, sizeof *events, PROT_READ, MAP_SHARED, fd, 0);

        if (fd >= 0)
                close(fd);
        if (words == MAP_FAILED)
                return;
        events = words;
        from_ms = now_ms() + atoi(after);
        own = getpid();
}

off64_t lseek64(int fd, off64_t offset, int whence)
{
        int64_t begin = now_ms(), left = GATE_PATIENCE_MS - waited_ms;

        if (events && whence == SEEK_DATA && begin >= from_ms && getpid() == own) {
                uint64_t first = *events;

                while (*events - first < GATE_EVENTS && now_ms() - begin < left)
                        usleep(1000);
                waited_ms += now_ms() - begin;
        }
        return syscall(SYS_lseek, fd, offset, whence);
}

off_t lseek(int fd, off_t offset, int whence)
{
        return lseek64(fd, offset, whence);
}
