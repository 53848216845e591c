/* SPDX-License-Identifier: MIT */
/*
 * maps.h -- reading /proc/self/maps line by line, without libc.
 *
 * Room:   inside; any context; one reader at a time per buffer.
 */
#ifndef SEEP_AGENT_MAPS_H
#define SEEP_AGENT_MAPS_H

#include <stdbool.h>
#include <stdint.h>

#define MAPS_BUFFER (16u << 10)

struct maps {
        long fd;
        uint32_t at, end;
        uint32_t lines; /* read so far */
        bool finished, failed;
        char buffer[MAPS_BUFFER + 1];
};

struct maps_line {
        uint64_t start, end, offset, dev, ino;
        bool read, execute;
        const char *path; /* "" for none; valid until the next line */
};

/* M is large: it lives in memory of ours, not on the stack. */
bool maps_open(struct maps *m);
bool maps_next(struct maps *m, struct maps_line *line);
void maps_close(struct maps *m);

/* The mapping at ADDRESS (with MAPS_OR_NEXT else the first behind it) that is what FLAGS say,
 * asked for alone (Linux 6.11), so that others cost nothing.  With MAPS_NAMED line->path is
 * valid until the next call with it, else "".  False: there is none, or (m->failed) the kernel
 * does not know the question. */
bool maps_find(struct maps *m, uint64_t address, uint64_t flags, struct maps_line *line);

#define MAPS_EXECUTABLE 0x04u
#define MAPS_OR_NEXT 0x10u
#define MAPS_OF_FILE 0x20u
#define MAPS_NAMED 0x100u

#endif
