/* SPDX-License-Identifier: MIT */
/*
 * listener.h -- the socket on which agents say hello and commands send requests.
 *
 * Keeps:  a private directory with one socket in it (and perhaps a link); all are
 *         gone after listener_close().
 */
#ifndef SEEP_SESSION_LISTENER_H
#define SEEP_SESSION_LISTENER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/un.h>

#include "base/err.h"
#include "collect/view.h"
#include "wire/hello.h"

#define LISTENER_BACKLOG 4096 /* connections that may wait to be accepted */

struct listener {
        int fd; /* listening, not blocking */
        char directory[sizeof((struct sockaddr_un *)0)->sun_path];
        char path[sizeof((struct sockaddr_un *)0)->sun_path];
        char alias[sizeof((struct sockaddr_un *)0)->sun_path + 16]; /* "" none */
        pid_t owner; /* the process that removes them; a forked writer of checkpoints does not */
};

/* What came over the socket. */
struct greeting {
        struct wire_hello hello;     /* LISTENER_COME */
        struct view view;            /* LISTENER_COME: the receiver's to keep */
        struct wire_request request; /* LISTENER_ASKED; its label ends */
        uint32_t pid; /* as we see the sender; 0 when it is in a world we do not see */
        uid_t uid;
        int pidfd; /* LISTENER_COME; -1 none */
        struct wire_launch launch; /* LISTENER_LAUNCHES */
        int file;                  /* LISTENER_LAUNCHES: of the program; the receiver's to close */
        bool injected;             /* its agent was written into it */
};

enum listener_answer {
        LISTENER_COME,    /* an agent, with its ledger */
        LISTENER_KNOCKED, /* an agent whose ledger has a new mark */
        LISTENER_LAUNCHES, /* an agent whose program starts one that cannot be preloaded; the
                            * connection waits for a byte */
        LISTENER_ASKED,   /* a command; the connection waits for a struct wire_reply */
        LISTENER_LATER,   /* nothing has come yet */
        LISTENER_WRONG /* none of these; E says why (or is not filled, when that needs no word) */
};

/* OWNER_UID: the user that the program will run as, who must be able to reach the socket.
 * BORROWED: as in session/carrier.h. */
bool listener_open(struct listener *g, uid_t owner_uid, bool borrowed, struct err *e);

/* Removes what sessions that were killed left beside ours.  It reads a folder that may be large, so
 * that short sessions leave it to longer ones. */
void listener_tidy(const struct listener *g);
void listener_close(struct listener *g);

/* Another name for FILE, for a list (LD_PRELOAD) that cannot hold its own; it lasts as long as the
 * socket. */
bool listener_alias(struct listener *g, const char *file, struct err *e);

/* Whether enough descriptors are left to receive a greeting; without them its ledger would be
 * lost. */
bool listener_has_room(void);

/* The next connection at ENDPOINT, not blocking; -1 when there is none. */
int listener_accept(int endpoint);

/* Answer the command at the other end of FD, and close it. */
void listener_reply(int fd, const struct wire_reply *reply);

/* The same: that it cannot be done. */
void listener_refuse(int fd, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Answer with the descriptor FILE (-1 none) for the command to keep. */
void listener_reply_file(int fd, const struct wire_reply *reply, int file);

/* The agent that came (LISTENER_COME) is left alone: it is told, and what it brought is closed. */
void listener_leave(struct greeting *g);

/* What connection FD has to say. */
enum listener_answer listener_receive(int fd, struct greeting *out, struct err *e);

#endif
