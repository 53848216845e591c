/* SPDX-License-Identifier: MIT */
/*
 * light.h -- a target without a ledger (seep-target, `seep serve --light`): the host keeps the
 * ledger.
 *
 * A process of ours, the keeper, is connected to the target, keeps a ledger for each journal that
 * comes, and answers at a socket of its own as a target with a ledger does (server.h):
 *
 *     seep-target --- journals, memory ---> keeper --- looks, recordings ---> link.h
 *
 * So whoever asks does not know the difference.  When the connection breaks, the keeper keeps what
 * it has, and connects again; a process that ran on is told anew then.  It leaves when whoever
 * started it does.
 */
#ifndef SEEP_REMOTE_LIGHT_H
#define SEEP_REMOTE_LIGHT_H

#include <stdbool.h>

#include "base/err.h"
#include "base/worker.h"
#include "remote/link.h"
#include "session/reports.h"

struct light_wishes {
        void (*say)(const char *text); /* a sentence for the user, in any of the processes */
        const char *root; /* in front of the paths of the target's files (--sysroot); "" */
        struct reports_author author; /* of reports about snapshots */
};

struct light {
        struct worker keeper; /* WORKER_NONE: the target has its own ledger */
        char folder[64];
        int lock; /* on it; -1 none */
};

/* If the target of L has no ledger, start the keeper, wait until it knows what was there before,
 * and lead L to it.  light_close() is due after success. */
bool light_open(struct light *t, struct link *l, const struct light_wishes *w, struct err *e);
void light_close(struct light *t);

#endif
