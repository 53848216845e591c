/* SPDX-License-Identifier: MIT */
/*
 * client.h -- one connection of an HTTP client: what it sent, what it waits for, what is still to
 * be sent.
 *
 * Room:   outside, serve/ only.  Driven by the loop of serve.c; never blocks.
 * Keeps:  every state but waiting for our own work has a deadline, however slowly
 *         the client sends or takes.
 */
#ifndef SEEP_SERVE_CLIENT_H
#define SEEP_SERVE_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "serve/reply.h"
#include "serve/request.h"

enum client_state {
        CLIENT_READING, /* a request comes, or will */
        CLIENT_WAITING, /* for the answer to ORDER */
        CLIENT_WRITING,
        CLIENT_LEAVING, /* everything is sent; what it still sends is thrown away, so
                         * that it reads to the end */
        CLIENT_GONE
};

struct client {
        int fd;
        enum client_state state;
        struct str in;
        uint64_t since_ns;    /* in this state */
        uint64_t deadline_ns; /* UINT64_MAX: none */
        char *order;          /* CLIENT_WAITING */
        uint64_t known_tag;   /* the client has a body of this tag already */
        bool knows, no_body, close;
        struct str head;
        struct reply_body *body;
        size_t sent; /* of head and body */
};

void client_init(struct client *c, int fd);
void client_free(struct client *c);

/* Read what is there.  true: R is a request to be answered (by client_answer() or
 * client_wait()). */
bool client_read(struct client *c, struct request *r);

/* The same for what was read before, together with the last request. */
bool client_next(struct client *c, struct request *r);

/* BODY is shared, not taken. */
void client_answer(struct client *c, struct reply_body *body);

/* ORDER is taken. */
void client_wait(struct client *c, char *order);

/* Send as much as goes. */
void client_write(struct client *c);

/* The deadline is over. */
void client_expire(struct client *c);

/* What to poll for. */
short client_events(const struct client *c);

#endif
