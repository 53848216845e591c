/* SPDX-License-Identifier: MIT */
/*
 * link.h -- the host's side: the processes of a target, as if they were recorded here.
 *
 * Keeps:  a question is a connection of its own (threads and forked processes may ask, and a link
 *         that was down for a while is not noticed by the next one); link_connect() is for those
 *         who ask more.  After link_route() all of session/ask.h is answered by the target, whose
 *         numbers of processes count.
 */
#ifndef SEEP_REMOTE_LINK_H
#define SEEP_REMOTE_LINK_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "remote/address.h"
#include "remote/channel.h"
#include "remote/proof.h"
#include "session/ask.h"

struct link {
        struct address address;
        char shown[320]; /* what messages call it; "": the address */
        struct proof_token token;
        uint32_t hello_flags; /* PROTOCOL_HELLO_* */
        struct ask_route route;
};

/* ADDRESS as in address.h; TOKEN_FILE may be NULL.  Nothing is connected yet.  L must not move
 * while it is the route. */
bool link_open(struct link *l, const char *address, const char *token_file, struct err *e);
void link_route(struct link *l);

struct link_connection {
        struct channel channel;
        struct protocol_greeting greeting; /* of the target: its machine, word and byte order */
        pid_t helper; /* ssh; 0 none */
};

/* link_disconnect() is due after success. */
bool link_connect(const struct link *l, struct link_connection *c, struct err *e);
void link_disconnect(struct link_connection *c);

/* The processes of a target: those that run, and the recordings of those that have ended. */
struct link_list {
        struct protocol_list head;
        struct protocol_process *at;
        uint32_t count;
};

/* STOP: wait until something has ended since the list that is in OUT, some seconds at most, or
 * until STOP is not 0 (false with an empty E, and the connection is of no use any more); NULL:
 * the list at once.  OUT changes only where that succeeds. */
bool link_list(struct link_connection *c, struct link_list *out, const volatile sig_atomic_t *stop,
               struct err *e);
void link_list_free(struct link_list *l);

/* The same in two steps, for those who wait for other things, too: ask, and when something comes
 * through C's channel, take it. */
bool link_list_ask(struct link_connection *c, const struct link_list *known, struct err *e);
bool link_list_take(struct link_connection *c, struct link_list *out, struct err *e);

/* The process that commands are about when none is named: the only one, or the one that was
 * started; the last of its recordings when it has ended.  NULL: there is none. */
const struct protocol_process *link_main(const struct link_list *l);

/* The recording NUMBER of a process that has ended, as a file in memory; -1: E.  link_stored()
 * tells the target that it need not be kept there. */
int link_fetch(struct link_connection *c, uint32_t number, struct err *e);
bool link_stored(struct link_connection *c, uint32_t number, struct err *e);

#endif
