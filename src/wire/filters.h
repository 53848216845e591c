/* SPDX-License-Identifier: MIT */
/*
 * filters.h -- what is known about the system call filters (seccomp) that a program starts under.
 *
 * Room:   both sides; layout only.
 * Keeps:  a file in the session's directory, WIRE_FILTERS_NAME and the number in hex that the upper
 *         half of FLAGS of SEEP_SESSION is, with WIRE_F_FILTERS.  Number 0 is the tool's: what it
 *         found out about the filters that it runs under itself.  A process that is about to load a
 *         filter and may become another program afterwards writes one of its own, with its process
 *         id as number.  A struct wire_filters, and COUNT times a 32-bit number of instructions and
 *         so many instructions as the kernel takes them.  All in the byte order of who wrote it,
 *         which MAGIC tells.
 */
#ifndef SEEP_WIRE_FILTERS_H
#define SEEP_WIRE_FILTERS_H

#include <stdint.h>

#define WIRE_FILTERS_NAME "filters."
#define WIRE_FILTERS_MAGIC 0x72746c4675u
#define WIRE_FILTERS_UNKNOWN 0xffffffffu /* an old kernel does not count */

struct wire_filters {
        uint64_t magic;
        uint32_t depth; /* filters that hold, as the kernel counts them
                         * (Seccomp_filters in /proc/PID/status) */
        uint32_t count; /* of those that follow; one may stand for several that nobody has seen */
};

struct wire_instruction {
        uint16_t code;
        uint8_t yes, no;
        uint32_t k;
};

/* Instructions of all filters together, at most. */
#define WIRE_FILTERS_ROOM 8192u

/* What a filter is shown. */
#define WIRE_FILTER_WORDS 16u /* number, architecture, address (2), six arguments (2 each) */

/* Results, the upper half. */
#define WIRE_FILTER_ACTION 0xffff0000u
#define WIRE_FILTER_KILL 0x80000000u
#define WIRE_FILTER_ALLOW 0x7fff0000u

_Static_assert(sizeof(struct wire_instruction) == 8, "the kernel's");
_Static_assert(sizeof(struct wire_filters) == 16, "frozen");

#endif
