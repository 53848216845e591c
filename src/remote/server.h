/* SPDX-License-Identifier: MIT */
/*
 * server.h -- the target's side: a process that listens, beside one that records.
 *
 * Room:   outside.  Around a run (cli/cmd_serve.c): open before the program is started, session,
 *         program and recorded while it runs, ended, and close.
 * Keeps:  the observer and the program never wait for a host.  At most SERVER_PEERS_MAX hosts are
 *         served at a time, each by a process of its own; all of them end when the observer ends.
 *         Without a token only our user and root are heard, and only from this machine.
 */
#ifndef SEEP_REMOTE_SERVER_H
#define SEEP_REMOTE_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "profile/model.h"

#define SERVER_PEERS_MAX 16u

struct server_wishes {
        const char *listen;     /* address.h */
        const char *token_file; /* NULL none */
        const char *folder;     /* where recordings are kept only until they are sent; NULL none */
        void (*say)(const char *text); /* a sentence for the user, in any of the processes */
};

struct server;

/* NULL with E filled: nobody can listen there, or may not without a token. */
struct server *server_open(const struct server_wishes *w, struct err *e);
void server_close(struct server *s);

/* Where it listens, as `seep connect` has it; whether others could read along. */
const char *server_where(const struct server *s);
bool server_is_far(const struct server *s);

/* Hosts that were welcomed so far. */
uint32_t server_clients(const struct server *s);

/* A program is observed, and its observer listens at SOCKET; one that did so before has this one
 * now.  S may be NULL here and below. */
void server_program(struct server *s, uint32_t pid, const char *socket);

/* A recording is finished, and in the file PATH; it is called otherwise now. */
void server_recorded(struct server *s, const struct profile *p, const char *path, bool is_main);
void server_moved(struct server *s, const char *from, const char *to);

/* Nothing more is recorded; EXIT: what became of the program, as a shell has it. */
void server_ended(struct server *s, int exit);

/* Of the recordings, how many no host has stored; the file of number I, and whether one has. */
uint32_t server_left(const struct server *s);
const char *server_file(const struct server *s, uint32_t i, bool *stored);

#endif
