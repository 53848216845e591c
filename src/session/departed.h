/* SPDX-License-Identifier: MIT */
/*
 * departed.h -- recordings of programs that have ended but whose memory is still searched for leaks
 *
 * Keeps:  whoever waits for the program itself does not wait for us, and the observer has time for
 *         others.
 */
#ifndef SEEP_SESSION_DEPARTED_H
#define SEEP_SESSION_DEPARTED_H

#include "session/recording.h"

struct departed_one {
        struct recording *recording;
        struct recording_end end;
};

struct departed {
        struct departed_one *at;
        uint32_t count;
};

/* The program of R came to its END.  false: nothing of it is being searched, it can be finished. */
bool departed_add(struct departed *d, struct recording *r, const struct recording_end *end);

/* A child of ours ended, as in recording_child_ended(). */
void departed_child_ended(struct departed *d, pid_t pid, int status, uint64_t cpu_ns);

/* One whose search is over (ANY: or goes on), with how it ended; NULL: there is none.  It is the
 * caller's again. */
struct recording *departed_take(struct departed *d, bool any, struct recording_end *end);

/* Nobody wants to wait: end all searches. */
void departed_stop(const struct departed *d);

#endif
