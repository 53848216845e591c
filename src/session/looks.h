/* SPDX-License-Identifier: MIT */
/*
 * looks.h -- recordings of the current moment for commands that watch a process: the requests, and
 * the process that makes them.
 *
 * Keeps:  one at a time; who asks meanwhile gets the next.  The recorded process is not
 *         stopped and does not notice.
 */
#ifndef SEEP_SESSION_LOOKS_H
#define SEEP_SESSION_LOOKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/worker.h"
#include "profile/model.h"

struct looks_asker {
        int fd;         /* a connection */
        uint32_t flags; /* WIRE_LOOK_* */
};

struct looks {
        struct worker worker; /* makes one now: a recording, as a file */
        struct looks_asker *askers;
        uint32_t count, served; /* the first SERVED are answered by the present one */
};

struct looks_order {
        pid_t pid; /* of the recorded process */
        void *context;
        void (*collect)(void *context, uint32_t flags, struct profile *p); /* in the worker */
};

void looks_init(struct looks *l);

/* Whoever still waits is told that there is nothing more to be seen. */
void looks_free(struct looks *l);

/* ASKER, a connection, wants one; it is moved. */
void looks_ask(struct looks *l, int asker, uint32_t flags);

/* Start the next, when somebody waits. */
void looks_start(struct looks *l, const struct looks_order *o);

/* The worker ended, with STATUS of waitpid().  PATH: the file that the recording will be in, or
 * "". */
void looks_done(struct looks *l, int status, const char *path);

#endif
