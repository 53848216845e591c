/* SPDX-License-Identifier: MIT */
/*
 * launch.h -- a program that has just been started runs up to its first allocation, and is stopped
 * there.
 *
 * Room:   outside; the tracer.
 * Keeps:  earlier there is nothing to write an agent into: a program without a loader makes its
 *         thread pointer itself, one with a loader gets its libraries from it.  Both do so before
 *         they allocate.  Stops are breakpoints on the functions that matter, gone at the first.
 */
#ifndef SEEP_ATTACH_LAUNCH_H
#define SEEP_ATTACH_LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "attach/custom.h"
#include "attach/hold.h"
#include "base/err.h"

enum launch_state {
        LAUNCH_RUNS,    /* on its way */
        LAUNCH_STOPPED, /* the same, but job control has stopped it */
        LAUNCH_READY,   /* it stands still in front of its first allocation */
        LAUNCH_UNFIT    /* E; it goes on, and is traced no more */
};

struct launch;

/* PID, which becomes a program only after this, is traced from now on.  CUSTOM: functions that it
 * stops at, too; NULL none.  NULL: E. */
struct launch *launch_new(pid_t pid, const struct custom *custom, struct err *e);

/* The same of a thread that runs: it is about to become a program without a loader. */
struct launch_later {
        pid_t tid, pid; /* it, and its process */
        bool spawn;     /* it is about to start one */
};

struct launch *launch_later(const struct launch_later *q, const struct custom *custom,
                            struct err *e);

/* Whether PID, which has changed its state to STATUS, is what it is about. */
bool launch_is(struct launch *l, pid_t pid, int status);

/* PID, a stranger, has stopped for the first time: a child whose parent's stop is still to be seen,
 * of this launch or of another.  false: there is no such parent. */
bool launch_early(struct launch *l, pid_t pid);

/* It has stopped with STATUS, of waitpid().  LAUNCH_READY: H holds it, for hold_release(). */
enum launch_state launch_step(struct launch *l, int status, struct hold *h, struct err *e);

/* We leave before it is ready, or it has not become a program: it goes on without breakpoints, and
 * is traced no more.  false: not yet, since it has not stopped for that in time; launch_step() does
 * it when it has. */
bool launch_abandon(struct launch *l);

void launch_free(struct launch *l);

#endif
