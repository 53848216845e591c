/* SPDX-License-Identifier: MIT */
/*
 * rejoin.h -- how another observer continues a recording whose observer has died.
 *
 * Room:   both sides; the program may have words of four bytes where seep has eight.  Layout only.
 * Keeps:  ledger_head.rejoin_at leads to one struct wire_rejoin in the memory of the process, in
 *         every agent that has an observer, however it came in.  Nobody but the one who is gone had
 *         a descriptor of the ledger, so the agent copies it to a file of the same place in memory
 *         and gives that.  seep stops all threads, writes SESSION and has one of them run ENTER on
 *         STACK with all signals blocked; it waits there to be taken away, as with inject.h.
 */
#ifndef SEEP_WIRE_REJOIN_H
#define SEEP_WIRE_REJOIN_H

#include <stdint.h>

#include "wire/address.h"
#include "wire/hello.h"

#define WIRE_REJOIN_MAGIC 0x6e696f6a6552ull /* "Rejoin" */
#define WIRE_REJOIN_STACK (32u << 10)

struct wire_rejoin {
        uint64_t magic;
        union wire_address enter; /* a function that does not return */
        union wire_address stack; /* WIRE_REJOIN_STACK bytes for it */
        union wire_address gate;  /* a word: the agent is at work while it is GATE_ON */
        uint32_t gate_on, injected;
        char session[WIRE_SESSION_MAX]; /* as in SEEP_SESSION: what holds now, and what is to */

        /* What came of it. */
        volatile uint32_t done;  /* WIRE_REJOIN_* */
        volatile int32_t ledger; /* its descriptor; negative errno: it stays with nobody */
        volatile uint32_t taken; /* seep's: it has a descriptor of its own */
};

/* Of DONE. */
#define WIRE_REJOIN_OVER 1u
#define WIRE_REJOIN_GIVES 2u /* waits until the ledger is TAKEN */

#endif
