/* SPDX-License-Identifier: MIT */
/*
 * address.h -- addresses of targets: a socket of this machine, a port, or another machine by ssh.
 *
 * Forms:  . (the user's own socket), a path with a slash in it, HOST[:PORT], IPv4[:PORT], IPv6,
 *         [IPv6][:PORT], :PORT (this machine), ssh:[USER@]HOST.
 */
#ifndef SEEP_REMOTE_ADDRESS_H
#define SEEP_REMOTE_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/err.h"

enum address_kind { ADDRESS_PATH, ADDRESS_NET, ADDRESS_SSH };

struct address {
        enum address_kind kind;
        char text[300];  /* of a path: the path; of ssh: the host; else as it was written */
        char host[256], port[16];
        bool near;       /* of a port: it is of this machine, as far as its name tells */
};

/* Take TEXT apart; nothing is looked up. */
bool address_parse(const char *text, struct address *a, struct err *e);

/* Listen there.  BOUND: the address as others write it, with the port that was chosen.  A socket
 * that nobody listens at is replaced, and nothing else.  NEAR in A is settled.  -1: E. */
int address_listen(struct address *a, char bound[320], struct err *e);

/* The file of a socket that address_listen() made is not needed any more. */
void address_remove(const struct address *a);

/* A connection to it, ssh started where that is the way (*HELPER is its process, else 0). */
int address_dial(struct address *a, pid_t *helper, struct err *e);

/* FD, a connection: that the other machine or the link is down is noticed, also by who only
 * listens. */
void address_watch(int fd);

/* Whether whoever is at the other end of FD, accepted at a socket of this machine, is our user or
 * root: as the kernel has it. */
bool address_is_own(int fd);

#endif
