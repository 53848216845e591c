/* SPDX-License-Identifier: MIT */
/*
 * resident.h -- resident memory of a process, mapping by mapping, as the kernel reported it last.
 *
 * Cost:   the kernel walks the page tables for it, during which the process cannot map or
 *         unmap: so at most one part in RESIDENT_SHARE of the time, and as much again for those
 *         that come with a checkpoint.
 */
#ifndef SEEP_COLLECT_RESIDENT_H
#define SEEP_COLLECT_RESIDENT_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/keepers.h"
#include "collect/view.h"
#include "profile/model.h"

#define RESIDENT_EVERY_MS 1000u
#define RESIDENT_SHARE 200u

struct resident {
        struct profile_mapping *mappings;
        uint32_t count;
        uint64_t ms;     /* when */
        uint64_t due_ms; /* not before; 0: at once */
        uint64_t pause_ms; /* between looks that take as long as the last one, so that
                            * they do not cost too much */
        uint64_t live_bytes, live_blocks; /* of the heap, at the same time; 0 unknown */
        struct keepers keepers;
};

void resident_free(struct resident *r);

/* Look at a process now.  When nothing can be seen (it is on its way out) the last look stands. */
void resident_look(struct resident *r, struct keepers_process of, uint64_t now_ms);

/* P gets a copy. */
void resident_store(const struct resident *r, struct profile *p);

/* The mappings in TEXT, as /proc/PID/smaps has them; OUT is the caller's to free, with the
 * names. */
uint32_t resident_parse(const char *text, struct profile_mapping **out);

/* ---- how much memory of a process is resident, as it would be without us ----
 *
 * Keeps:  the ledger is mapped by the process, so that the kernel counts it there; here it is taken
 *         off.
 */

struct rss {
        uint32_t pid;
        int statm;           /* /proc/PID/statm; -1 when it cannot be read */
        uint64_t last_bytes; /* a process on its way out has none: the last number stands */
        uint64_t peak_bytes; /* 0 unknown */
        uint64_t ms;         /* when the kernel was asked for the peak last */
};

void rss_open(struct rss *s, uint32_t pid);
void rss_close(struct rss *s);

/* Read what is resident now. */
void rss_read(struct rss *s, const struct view *v);

/* The same, and how much it was at most. */
void rss_read_peak(struct rss *s, const struct view *v, uint64_t now_ms);

/* What is resident now, and from time to time how much it was at most, which costs more than all
 * the rest of a tick: the kernel remembers it, so nothing is lost but what a process that is not
 * our child did in its last tenth of a second. */
void rss_follow(struct rss *s, const struct view *v, uint64_t now_ms);

/* The kernel tells, at the end of the process, that so much was resident at some time (0: it
 * does not), ledger and all. */
void rss_told(struct rss *s, const struct view *v, uint64_t bytes);

#endif
