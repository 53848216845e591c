/* SPDX-License-Identifier: MIT */
/*
 * visitors.h -- connections to the session, heard one by one.
 *
 * Keeps:  nobody is let in while there are too few descriptors to receive a ledger: it would be lost.  Those who come wait.
 *         Who says nothing is dropped after a second, or earlier when too many of the same user do; an agent that was stopped just
 *         then comes again.  A flood of connections costs a bounded amount of work between two ticks.
 */
#ifndef SEEP_SESSION_VISITORS_H
#define SEEP_SESSION_VISITORS_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define VISITORS_MAX 256u
#define VISITORS_EACH 96u   /* of one user */
#define VISITORS_ROUND 64u  /* let in at once */
#define VISITORS_SILENT_MS 1000u

struct visitor {
        int fd;
        uid_t uid;
        uint64_t since_ns;
};

struct visitors {
        struct visitor waiting[VISITORS_MAX]; /* let in, but have not spoken yet; oldest first */
        uint32_t count;
        bool starved; /* too few descriptors for more */
        bool crowded; /* at the door of commands: what is left of them can wait for the next tick */
        void *context;
        bool (*hear)(void *context, int fd); /* false: it has not spoken yet; else FD belongs to the callee */
};

void visitors_close(struct visitors *v);

/* Hear those who wait, drop those who have been silent for too long, then let in and hear some (ALL: as many as can have waited) of
 * those at GREETER and at DOOR; -1: none.  Whoever they are, they are heard first: a refusal that comes before would be lost. */
void visitors_take(struct visitors *v, int greeter, int door, bool all);

/* What to wait for, as entries of POLLS; returns how many. */
uint32_t visitors_polls(const struct visitors *v, struct pollfd *polls);

/* How long to wait for it, when there is nothing else to wait for; -1 for ever. */
int visitors_wait_ms(const struct visitors *v);

/* Each process that is recorded takes descriptors. */
void visitors_raise_limit(void);

#endif
