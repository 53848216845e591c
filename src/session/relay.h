/* SPDX-License-Identifier: MIT */
/*
 * relay.h -- signals that reach seep: which are passed on to the program.
 *
 * Keeps:  what the terminal sends (Ctrl-C, Ctrl-\, hang-up, window size) has reached the program
 *         by itself, because it is in the same process group; what another process sends to us
 *         is passed on.  No disposition of ours but SIGCHLD's is changed: signals are blocked
 *         and read from a descriptor.
 */
#ifndef SEEP_SESSION_RELAY_H
#define SEEP_SESSION_RELAY_H

#include <stdbool.h>
#include <sys/types.h>

#include "attach/spawn.h"
#include "base/err.h"

struct relay {
        int fd;
        struct spawn_signals before;
};

/* What was read. */
enum relay_event {
        RELAY_NOTHING, /* no more signals */
        RELAY_PASSED,  /* dealt with */
        RELAY_CHILD,   /* a child changed its state */
        RELAY_STOP     /* someone wants us to end: INT, TERM, HUP, QUIT */
};

bool relay_open(struct relay *r, struct err *e);
void relay_close(struct relay *r);

/* Read one signal and pass it on to PID (0: the program has ended, keep it). */
enum relay_event relay_next(struct relay *r, pid_t pid);

/* A child that changed its state; 0.  It stays to be reaped: until then /proc tells about it. */
pid_t relay_child(void);

/* The program PID was stopped by SIGNAL: stop with it when that came from the
 * terminal, and wake it with us. */
void relay_stopped(pid_t pid, int signal);

#endif
