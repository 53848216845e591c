/* SPDX-License-Identifier: MIT */
/*
 * rss.h -- how much memory of a process is resident, as it would be without us.
 *
 * Room:   outside.
 * Keeps:  the ledger is mapped by the process, so that the kernel counts it there; here it is taken off.
 */
#ifndef SEEP_COLLECT_RSS_H
#define SEEP_COLLECT_RSS_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/view.h"

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

/* The kernel tells, at the end of the process, that so much was resident at some time (0: it does not), ledger and all. */
void rss_told(struct rss *s, const struct view *v, uint64_t bytes);

#endif
