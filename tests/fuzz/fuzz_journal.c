/* SPDX-License-Identifier: MIT */
/*
 * fuzz_journal.c -- any bytes as a journal: read it to its end, and what comes out can be written
 * as a recording.
 *
 * Built with the sums of packets switched off, so that changed bytes reach the decoders.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"
#include "journal/incoming.h"
#include "profile/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_file(const struct profile *p)
{
        int fd = memfd_create("fuzz-recording", MFD_CLOEXEC);
        struct profile again = { 0 };
        struct err e = { 0 };
        char path[64];

        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        if (fd < 0 || !file_put(p, fd, &e) || !file_read(&again, path, &e) || again.truncated ||
            again.totals.allocations != p->totals.allocations)
                abort();
        profile_free(&again);
        close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        int fd = memfd_create("fuzz", MFD_CLOEXEC);
        struct profile p = { 0 };
        struct err e = { 0 };
        char path[64];

        if (fd < 0 || !io_write(fd, data, size))
                abort();
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        if (incoming_read(&p, path, &e)) {
                check_file(&p);
                profile_free(&p);
        } else if (!e.text[0]) {
                abort();
        }
        close(fd);
        return 0;
}
