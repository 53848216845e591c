/* SPDX-License-Identifier: MIT */
/*
 * standstill.h -- a program that survives its recording is held still while its ledger is read for
 * the last time.
 *
 * Room:   outside; a worker holds it, so that it goes on when we are killed.
 * Keeps:  totals, call stacks and blocks of the recording are of one moment.  The program stands
 *         for STANDSTILL_MS at the most: what is read after that is of later moments, as it is
 *         where nobody may hold it.
 */
#ifndef SEEP_SESSION_STANDSTILL_H
#define SEEP_SESSION_STANDSTILL_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/worker.h"
#include "collect/view.h"

#define STANDSTILL_MS 1000

struct standstill {
        struct worker worker;
};

/* PID, whose ledger is V, stands still now, with none of its threads inside the agent; or it
 * cannot be held. */
void standstill_begin(struct standstill *s, const struct view *v, pid_t pid);
void standstill_end(struct standstill *s);

#endif
