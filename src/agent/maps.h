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

#endif
