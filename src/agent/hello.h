/* SPDX-License-Identifier: MIT */
/*
 * hello.h -- telling the observer where the ledger is.
 *
 * Room:   inside; at start and after fork.
 */
#ifndef SEEP_AGENT_HELLO_H
#define SEEP_AGENT_HELLO_H

#include <stdbool.h>
#include <stdint.h>

/* Send the ledger FD to the observer at PATH (wire/hello.h).  Waits at most some two
 * seconds for a busy observer. */
bool hello_send(const char *path, long fd, uint32_t reason);

/* Whether hello_send() has a way to PATH.  False behind chroot, without the right to go there, or
 * in a sandbox without sockets; what cannot be found out is believed. */
bool hello_reaches(const char *path);

/* Whether the observer at PATH is our parent: the program that it started, not one
 * that this started in turn. */
bool hello_is_main(const char *path);

/* We are about to become (SPAWN: to start) the program of the file FD, which cannot have our
 * library.  True: an agent will be written into it.  Waits at most two seconds. */
bool hello_launch(const char *path, long fd, bool spawn);

/* After that: it did not work, and we go on as we were.  Waits until we are traced no more, or two
 * seconds. */
void hello_stay(const char *path);

/* A library was loaded that has functions to be patched.  Waits until that is done, at most two
 * seconds. */
void hello_loaded(const char *path);

/* Ask the observer to look at the ledger now.  False: it could not be reached; when it is only too
 * busy, it will look at its next tick anyway. */
bool hello_knock(const char *path);

#endif
