/* SPDX-License-Identifier: MIT */
/*
 * endpoint.h -- a socket with the number of a process in its name.
 *
 * Room:   outside.  Opened by session/session.c for commands that know nothing but a process;
 *         session/ask.c comes to it.
 * Keeps:  its name is in no directory (abstract), gone when it is closed, and free for anybody to
 *         take: both sides look who the other one is.
 */
#ifndef SEEP_SESSION_ENDPOINT_H
#define SEEP_SESSION_ENDPOINT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Returns the length of the name. */
socklen_t endpoint_name(uint32_t pid, struct sockaddr_un *out);

/* The caller's to close; -1: another one has it, or there are no descriptors. */
int endpoint_open(uint32_t pid);

/* The same, when PID may just have become another program: whoever recorded the one before it is
 * told, and may first write its last report. */
int endpoint_take_over(uint32_t pid);

/* Whether a process that PID descends from has an endpoint of our user's or root's. */
bool endpoint_of_ancestor(uint32_t pid);

/* The processes that endpoints are about, whoever has opened them; at most ROOM.  Returns their
 * number. */
uint32_t endpoint_list(uint32_t *pids, uint32_t room);

#endif
