/* SPDX-License-Identifier: MIT */
/*
 * alone.h -- a room of the agent's on its own, in a test: a ledger in plain memory, threads that
 * are only played, and stand-ins for the
 *            other rooms.  A stand-in gives way to the real room where a test has that, too.
 */
#ifndef SEEP_TESTS_UNIT_ALONE_H
#define SEEP_TESTS_UNIT_ALONE_H

#include "agent/agent.h"
#include "agent/arena.h"
#include "agent/thread.h"

#define ALONE_THREADS 8u

extern struct thread alone_threads[ALONE_THREADS];
extern uint64_t alone_room[LEDGER_PARTS]; /* bytes of each part that there are */
extern uint32_t alone_ends;               /* how often a table was full (thin_end) ... */
extern enum ledger_stop alone_end;        /* ... the last time this one */
extern uint32_t alone_site;               /* of whatever allocates next */
extern uint32_t alone_marks[16];          /* added, by type */
extern uint32_t alone_aborts;

/* An empty ledger, and no thread in it. */
void alone_begin(void);

/* The first COUNT threads are there. */
void alone_join(uint32_t count);

#endif
