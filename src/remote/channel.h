/* SPDX-License-Identifier: MIT */
/*
 * channel.h -- one connection between a host and a target: messages with deadlines, and the
 * handshake.
 *
 * Keeps:  no wait is longer than CHANNEL_PATIENCE_MS, and no message longer than
 *         PROTOCOL_BODY_MAX; a peer that breaks a rule is told and left.
 */
#ifndef SEEP_REMOTE_CHANNEL_H
#define SEEP_REMOTE_CHANNEL_H

#include "base/err.h"
#include "remote/proof.h"
#include "remote/protocol.h"

#define CHANNEL_PATIENCE_MS 20000u
#define CHANNEL_GREETING_MS 10000u /* the other side of a fresh connection has no work to do */

struct channel {
        int in, out;
        char peer[320]; /* for messages */
        uint8_t body[PROTOCOL_BODY_MAX];
        uint32_t length, type; /* of the last message */
        uint32_t hello_flags;  /* a host's: PROTOCOL_HELLO_* */
};

void channel_init(struct channel *c, int in, int out, const char *peer);

/* false: E, and the connection is of no use any more. */
bool channel_send(struct channel *c, const struct protocol_message *m, struct err *e);
bool channel_send_bytes(struct channel *c, const void *bytes, uint32_t count, struct err *e);

/* The next message, within PATIENCE_MS.  Of a chunk or a packet the bytes are in C->body, and
 * M->type says so; "alive" is returned, too. */
bool channel_receive(struct channel *c, struct protocol_message *m, uint32_t patience_ms,
                     struct err *e);

/* Tell the other side what is wrong, as well as that can be done. */
void channel_refuse(struct channel *c, const struct err *why);

/* How a target begins, and how a host does.  TOKEN: length 0 none. */
bool channel_greet(struct channel *c, const struct proof_token *t, struct err *e);
bool channel_hello(struct channel *c, const struct proof_token *t,
                   struct protocol_greeting *greeting, struct err *e);

/* Whether something has come, or the other side has gone, within so long; -1: it cannot be said. */
int channel_poll(const struct channel *c, int ms);

#endif
