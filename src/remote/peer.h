/* SPDX-License-Identifier: MIT */
/*
 * peer.h -- one host that a target serves, in a process of its own, so that nothing it breaks or
 * blocks affects others.
 */
#ifndef SEEP_REMOTE_PEER_H
#define SEEP_REMOTE_PEER_H

#include "base/err.h"
#include "remote/board.h"
#include "remote/proof.h"

#define PEER_IDLE_MS 120000u /* a host that asks nothing for so long may come again */

struct peer {
        struct board *board;
        const struct proof_token *token;
        int fd;
};

/* Greet, and answer until the host goes.  false with E: it is no host of ours. */
bool peer_serve(const struct peer *p, struct err *e);

#endif
