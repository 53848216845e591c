/* SPDX-License-Identifier: MIT */
/*
 * relay.h -- one process of the target, and the relay that packs the events in its ring into a
 * journal.
 *
 * The agent shares its ledger with us (wire/hello.h), and writes each event into the ring in it.
 * While a host is connected, a process of ours for each ledger reads the ring, packs it as
 * docs/JOURNAL.md has it, and hands the packets to the one that talks to the host:
 *
 *     program --- ring in the ledger ---> relay --- packets ---> seep-target --- wire ---> host
 *
 * So the program does no more than to write 32 bytes an event; a ledger that it has damaged ends
 * its own relay; and a host that comes later is told what is in the ledger, then what happens.
 *
 * Keeps:  a host that takes nothing fills the socket, then the ring, then (--overflow=block) the
 *         program waits, ten seconds at most.  While no host is there, journal_read is RELAY_NOBODY
 *         ahead: events are not even written.
 */
#ifndef SEEP_TARGET_RELAY_H
#define SEEP_TARGET_RELAY_H

#include <stdbool.h>
#include <stdint.h>

#include "ledger/ledger.h"

#define RELAY_NOBODY (1ull << 62)

/* What the process that talks to hosts tells a relay; shared memory. */
struct relay_control {
        uint32_t finish; /* the ledger is nobody's any more: enum journal_end says why */
        uint32_t ended;  /* 1 + its status, as wait() has it, when we are its parent */
        uint32_t moments; /* so often a reader (reader.c) has stopped the process; the last one: */
        uint32_t ticket;  /* what is to be told ... */
        uint64_t moment;  /* ... between the event before this one and it */
};

struct relay_job {
        long ledger; /* its file */
        uint32_t pid; /* as we see it */
        bool is_child, again; /* AGAIN: what it holds is told first */
        uint32_t moments; /* that are over */
        long out; /* a socket that keeps messages apart */
        struct relay_control *control;
};

/* In a process of its own, which it ends: 0 all is told, 1 the ledger makes no sense. */
void relay_run(const struct relay_job *job);

/* The head of the ledger in FD, mapped; NULL: it is none of this version. */
struct ledger_head *relay_head(long fd);

/* Nobody wants the events of HEAD for now. */
void relay_forget(struct ledger_head *head);

/* A message that is no packet: what was there before is told. */
#define RELAY_CURRENT 'c'

/* Another one, of RELAY_MOMENT_BYTES: the journal has come to the moment of a ticket, which follows
 * it. */
#define RELAY_MOMENT 'm'
#define RELAY_MOMENT_BYTES 5

#endif
