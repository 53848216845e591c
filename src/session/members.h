/* SPDX-License-Identifier: MIT */
/*
 * members.h -- the members of a session: the program, and the processes that it started.
 *
 * Keeps:  no process of another user is recorded that the program did not start.
 *
 * Who says hello has found the socket, whose name only the program's tree is told
 * (session/listener.c).  That is enough for root, for our own user and for the program's: these
 * could reach the processes of the session anyway.  A process of any other user must descend from a
 * recorded one, or be in a kernel session (setsid) that one of them began; then its user is one of
 * the tree's from there on, so that what it leaves to init is recorded too.
 */
#ifndef SEEP_SESSION_MEMBERS_H
#define SEEP_SESSION_MEMBERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "session/listener.h"
#include "session/recording.h"

#define MEMBERS_USERS_MAX 64u

struct members {
        uid_t owner;   /* the program's user */
        uint32_t main; /* the program's process; 0 unknown */
        uid_t users[MEMBERS_USERS_MAX]; /* that the tree has besides */
        uint32_t user_count;
};

/* Whether the user may ask for things: root, ours, and the program's. */
bool members_may_ask(const struct members *m, uid_t uid);

/* Whether the user is one of those, or another one that the tree has. */
bool members_know(const struct members *m, uid_t uid);

/* What is recorded. */
struct members_tree {
        struct recording *const *recordings;
        uint32_t count;
};

/* Whether the sender of G may be recorded, beside those of T. */
bool members_admit(struct members *m, const struct members_tree *t, const struct greeting *g,
                   struct err *e);

#endif
