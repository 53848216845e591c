/* SPDX-License-Identifier: MIT */
/*
 * producer.h -- a process that makes the data that clients request, one request after another,
 * while serve.c answers others.
 *
 * Keeps:  it is forked with what it serves in memory; when it dies over an order, that one fails
 *         and the next one gets a new process.
 */
#ifndef SEEP_SERVE_PRODUCER_H
#define SEEP_SERVE_PRODUCER_H

#include <stdbool.h>

#include "base/str.h"
#include "base/worker.h"
#include "serve/served.h"
#include "serve/reply.h"

struct producer {
        struct served *served;
        void (*leave)(void *context); /* closes what of the server's the process must not have */
        void *context;
        struct worker worker; /* with a socket, to it and back */
        char *order;    /* what it works on, NULL nothing */
        struct str got; /* of the answer */
};

void producer_init(struct producer *d, struct served *x, void (*leave)(void *), void *context);
void producer_close(struct producer *d);

/* ORDER is "data?QUERY", "source?QUERY", or an inquiry: "search?", "sql?QUERY" ...  Only when
 * there is no other.  false: there can be no process now. */
bool producer_start(struct producer *d, const char *order);

/* What has come of the answer, when the descriptor is readable.  NULL: more will come.  LIVE:
 * there will be newer data. */
struct reply_body *producer_take(struct producer *d, bool *live);

#endif
