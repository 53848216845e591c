/* SPDX-License-Identifier: MIT */
/*
 * limits.h -- calls with a time limit that a stop interrupted: they continue with the time that is
 * left.
 *
 * The kernel makes most calls again by itself, with what is left of their limit (poll, select,
 * nanosleep, futex).  A few it ends with EINTR: epoll_wait, semtimedop, sigtimedwait, io_getevents,
 * io_uring_enter, and calls of sockets with a limit of their own (SO_RCVTIMEO).  These are made
 * again by us, and three things keep their limit from beginning anew each time:
 *
 *     when it began    nobody tells, but the scheduler tells when a thread last went to sleep, by
 *                      the clock of its processor (/proc/PID/task/TID/sched).  So each thread is
 *                      looked at before it is stopped, and that clock is compared with ours by a
 *                      thread of ours that goes there.  Errors are on the safe side: the clock of
 *                      a processor never runs faster than ours, so no limit ends too early.
 *     when it ends     is told by the call itself, at the next stop: the upper half of the register
 *                      with its number, which the kernel keeps and does not look at (a mark).
 *                      When that time has come, the call returns as it does when its time is over.
 *     what is left     becomes its argument, where a function of the C library makes the call: its
 *                      caller knows nothing of these registers.  In other code an argument
 *                      may be used again after the call, and stays as it is; so does the limit of
 *                      a socket.  The next stop ends it then, or its full limit, which
 *                      it has once more.
 *
 * Room:   outside; the tracer.
 * Keeps:  with the first and the third, a limit that is met by any number of stops ends when it
 *         should, within a millisecond and the last stop; with the mark alone it ends after twice
 *         its time at most.  x86-64, Linux 5.14; elsewhere each stop begins it anew.
 */
#ifndef SEEP_ATTACH_LIMITS_H
#define SEEP_ATTACH_LIMITS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct arch_registers;

/* A thread that waits in a call that a stop ends, with or without a limit. */
struct limits_wait {
        pid_t tid;
        int processor;     /* on which it went to sleep; -1: unknown ... */
        uint64_t since_ns; /* ... at this time of that; then of CLOCK_MONOTONIC; 0: unknown */
        uint64_t sleeps;   /* how often it has gone to sleep */
        uint64_t pc;
        bool library; /* the call is made by the C library */
};

struct limits {
        struct limits_wait *waits;
        uint32_t count;
};

/* TID of PID will be stopped; and so will all that were looked at, soon. */
void limits_look(struct limits *l, pid_t pid, pid_t tid);
void limits_settle(struct limits *l, pid_t pid);

/* TID has stopped, with R, and has done nothing else since. */
void limits_stopped(struct limits *l, pid_t pid, pid_t tid, const struct arch_registers *r);

/* Whether it is known since when TID has waited. */
bool limits_know(const struct limits *l, pid_t tid);

/* The call in R, which the stop of TID cut short, is made again; or it is late, and returns. */
void limits_again(const struct limits *l, pid_t pid, pid_t tid, struct arch_registers *r);

void limits_free(struct limits *l);

#endif
