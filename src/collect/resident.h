/* SPDX-License-Identifier: MIT */
/*
 * resident.h -- where the resident memory of a process is, mapping by mapping, as the kernel told last.
 *
 * Room:   outside.
 * Cost:   the kernel walks the page tables for it, during which the process cannot map or unmap: so at most one part in RESIDENT_SHARE of the time,
 *         and as much again for those that come with a checkpoint.
 */
#ifndef SEEP_COLLECT_RESIDENT_H
#define SEEP_COLLECT_RESIDENT_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/keepers.h"
#include "profile/model.h"

#define RESIDENT_EVERY_MS 1000u
#define RESIDENT_SHARE 200u

struct resident {
        struct profile_mapping *mappings;
        uint32_t count;
        uint64_t ms;     /* when */
        uint64_t due_ms; /* not before; 0: at once */
        uint64_t pause_ms; /* between looks that take as long as the last one, so that they do not cost too much */
        uint64_t live_bytes, live_blocks; /* of the heap, at the same time; 0 unknown */
        struct keepers keepers;
};

void resident_free(struct resident *r);

/* Look at a process now.  When nothing can be seen (it is on its way out) the last look stands. */
void resident_look(struct resident *r, struct keepers_process of, uint64_t now_ms);

/* P gets a copy. */
void resident_store(const struct resident *r, struct profile *p);

/* The mappings in TEXT, as /proc/PID/smaps has them; OUT is the caller's to free, with the names. */
uint32_t resident_parse(const char *text, struct profile_mapping **out);

#endif
