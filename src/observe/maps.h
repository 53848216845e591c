/* SPDX-License-Identifier: MIT */
/*
 * maps.h -- the lines of /proc/PID/maps.
 *
 * Room:   outside.  Called by observe/roots.c.
 */
#ifndef SEEP_OBSERVE_MAPS_H
#define SEEP_OBSERVE_MAPS_H

#include <stdbool.h>
#include <stdint.h>

struct maps_line {
        uint64_t start, end;
        bool readable, writable, shared;
        const char *path; /* "" anonymous; "[heap]", "/usr/lib/..." */
};

struct maps {
        struct maps_line *at; /* by address */
        uint32_t count;
};

/* TEXT is changed, and must outlive M. */
void maps_parse(struct maps *m, char *text);
void maps_free(struct maps *m);

/* The line that has ADDRESS; NULL: nothing is mapped there. */
const struct maps_line *maps_at(const struct maps *m, uint64_t address);

#endif
