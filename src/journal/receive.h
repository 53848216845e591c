/* SPDX-License-Identifier: MIT */
/*
 * receive.h -- journals from the network: a listener for connections and datagrams.
 *
 * Keeps:  one thread that never waits for a peer; a slow, silent or hostile one costs its slot and
 *         the memory of a ledger, and there are RECEIVE_MAX slots.
 */
#ifndef SEEP_JOURNAL_RECEIVE_H
#define SEEP_JOURNAL_RECEIVE_H

#include <signal.h>
#include <stdbool.h>

#include "journal/incoming.h"

#define RECEIVE_MAX 128u
#define RECEIVE_PORT 4576u

struct receive;

struct receive_wishes {
        const char *address; /* [tcp:|udp:]HOST[:PORT]; without a word in front: both */
        void *context;
        /* A journal is over, or we are; IN is the callee's to make a profile of, not to free. */
        void (*done)(void *context, struct incoming *in);
        /* A sentence for the user. */
        void (*say)(void *context, const char *text);
};

struct receive *receive_open(const struct receive_wishes *w, struct err *e);
void receive_close(struct receive *r);

/* Where it listens, as text; whether others than this machine can reach it. */
const char *receive_where(const struct receive *r);
bool receive_is_open(const struct receive *r);

/* Until *LEAVE is set, or (ONCE) all journals that came are over. */
void receive_run(struct receive *r, volatile sig_atomic_t *leave, bool once);

#endif
