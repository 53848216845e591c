/* SPDX-License-Identifier: MIT */
/*
 * connections.h -- the connections to a session, read one at a time.
 *
 * Keeps:  nobody is let in while there are too few descriptors to receive a ledger: it would be
 *         lost.  Those who come wait.  Who says nothing is dropped after a second, or earlier when
 *         too many of the same user do; an agent that was stopped just then comes again.  A flood
 *         of connections costs a bounded amount of work between two ticks.
 */
#ifndef SEEP_SESSION_CONNECTIONS_H
#define SEEP_SESSION_CONNECTIONS_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CONNECTIONS_MAX 256u
#define CONNECTIONS_EACH 96u   /* of one user */
#define CONNECTIONS_ROUND 64u  /* let in at once */
#define CONNECTIONS_SILENT_MS 1000u

struct connection {
        int fd;
        uid_t uid;
        uint64_t since_ns;
};

struct connections {
        struct connection waiting[CONNECTIONS_MAX]; /* let in, but have not spoken yet; oldest
                                                     * first */
        uint32_t count;
        bool starved; /* too few descriptors for more */
        bool crowded; /* at the socket of commands: what is left of them can wait for the next
                       * tick */
        void *context;
        bool (*hear)(void *context, int fd); /* false: it has not spoken yet; else
                                              * FD belongs to the callee */
};

void connections_close(struct connections *v);

/* Hear those who wait, drop those who have been silent for too long, then let in and hear some
 * (ALL: as many as can have waited) of those at LISTENER and at ENDPOINT; -1: none.  Whoever they
 * are, they are heard first: a refusal that comes before would be lost. */
void connections_take(struct connections *v, int listener, int endpoint, bool all);

/* What to wait for, as entries of POLLS; returns how many. */
uint32_t connections_polls(const struct connections *v, struct pollfd *polls);

/* How long to wait for it, when there is nothing else to wait for; -1 for ever. */
int connections_wait_ms(const struct connections *v);

/* Each process that is recorded takes descriptors. */
void connections_raise_limit(void);

#endif
