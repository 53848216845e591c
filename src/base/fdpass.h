/* SPDX-License-Identifier: MIT */
/* fdpass.h -- messages through a Unix socket that carry a file descriptor. */
#ifndef SEEP_BASE_FDPASS_H
#define SEEP_BASE_FDPASS_H

#include <stddef.h>
#include <sys/types.h>

/* Send COUNT bytes and FILE (-1: no descriptor); FILE stays open here.  FLAGS and result are those
 * of sendmsg(), without SIGPIPE. */
ssize_t fdpass_send(int socket, const void *bytes, size_t count, int file, int flags);

/* Receive a message of at most COUNT bytes.  *FILE is the descriptor that came with it (the
 * caller's, close-on-exec), or -1; further ones are closed.  FLAGS and result are those of
 * recvmsg(). */
ssize_t fdpass_receive(int socket, void *bytes, size_t count, int *file, int flags);

#endif
