/* SPDX-License-Identifier: MIT */
/*
 * control.h -- switching a recording on and off, resetting it, and its status, from outside the
 * program.
 *
 * Keeps:  the process stands still for what is written into it or its ledger, about a millisecond,
 *         and no thread of it is in the middle of an event then.  By a worker: a tracer that dies
 *         lets go of everything.  One at a time.
 */
#ifndef SEEP_SESSION_CONTROL_H
#define SEEP_SESSION_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/worker.h"
#include "collect/view.h"
#include "wire/hello.h"

struct control {
        struct worker worker;
        int asker; /* a connection */
        enum wire_control what;
};

void control_init(struct control *c);

/* Whoever waits is told that the recording has ended. */
void control_free(struct control *c);

struct control_order {
        enum wire_control what; /* not WIRE_CONTROL_DEPTH, which nothing in the process knows of */
        const struct view *view;
        uint32_t pid;
        int asker;
};

/* Begin it; the asker's connection is moved: it is answered when that is done, or refused. */
void control_ask(struct control *c, const struct control_order *o);

/* The worker ended, with STATUS of waitpid().  true: it was done, and took *PAUSE_NS; C->asker is
 * the caller's to answer.  false: whoever asked was told why not. */
bool control_done(struct control *c, int status, uint64_t *pause_ns);

/* How the recording of V stands; what the ledger does not know is left alone. */
void control_status(const struct view *v, struct wire_status *out);

#endif
