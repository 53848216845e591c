/* SPDX-License-Identifier: MIT */
/*
 * breakpoint.h -- record --engine breakpoint: a process of ours that stops the program at the entry
 * of each allocation function, and writes the ledger that an agent would have written.
 *
 * Keeps:  nothing is mapped into the program but pages with the instructions that breakpoints
 *         displaced, and no signal that is its own is changed.  The engine is also the guard: it is
 *         no member of our process group, and when we are gone (SIGKILL, too), it takes all
 *         breakpoints out and lets the program go.
 *
 *     session --- order: trace PID ---> engine --- int3, ptrace ---> program and what it starts
 *        |                                |
 *        +<---- hello, with a ledger -----+     the same hello that an agent says
 *
 *     scanner --- order: hold PID, with a socket ---> engine stops all threads, tells their
 *        registers through the socket, and lets them go when the other end is closed
 *        (attach/freeze.h)
 */
#ifndef SEEP_BREAKPOINT_BREAKPOINT_H
#define SEEP_BREAKPOINT_BREAKPOINT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/worker.h"

struct breakpoint_wishes {
        const char *socket; /* of the session: where hellos go */
        const char *omit;   /* wire/regex.h; "" none */
        uint32_t flags;     /* WIRE_F_* */
        bool follow_fork, follow_exec;
};

/* Start the tracer.  False: E says why. */
bool breakpoint_start(struct worker *w, const struct breakpoint_wishes *wishes, struct err *e);

/* Have PID, which has not become the program yet, traced from its first instruction on. */
bool breakpoint_trace(struct worker *w, pid_t pid, struct err *e);

/* No more recording: breakpoints are taken out, and all goes on without us. */
void breakpoint_end(struct worker *w);

#endif
