/* SPDX-License-Identifier: MIT */
/*
 * events_peak.h -- the peak of a log and what it was made of, found while the log is written.
 *
 * Keeps:  exact to the byte however many threads there were, because events have an order.  The rule is that of agent/peak.h for one
 *         thread: a site that is about to change and has not done so since the last maximum first saves itself.
 * Cost:   a few ns an event; 40 bytes for each site.
 */
#ifndef SEEP_PROFILE_EVENTS_PEAK_H
#define SEEP_PROFILE_EVENTS_PEAK_H

#include <stdbool.h>
#include <stdint.h>

struct events_peak_site {
        int64_t bytes, blocks;           /* live */
        int64_t peak_bytes, peak_blocks; /* saved */
        uint32_t epoch;
};

struct events_peak {
        struct events_peak_site *sites; /* by the ledger's number */
        uint32_t site_count, epoch;
        bool at_peak;          /* nothing became less since the maximum: live numbers are the peak's */
        int64_t bytes, blocks; /* live */
        int64_t most;          /* bytes, at the first moment that had so many ... */
        uint32_t ms;           /* ... and when that was */
};

/* Site SITE gained BYTES and BLOCKS at MS; lost, when they are negative. */
void events_peak_change(struct events_peak *k, uint32_t site, int64_t bytes, int64_t blocks);
/* The event is over: is there a new maximum? */
void events_peak_compare(struct events_peak *k, uint32_t ms);

/* What SITE had at the peak; epoch means nothing. */
struct events_peak_site events_peak_of(const struct events_peak *k, uint32_t site);

void events_peak_free(struct events_peak *k);

#endif
