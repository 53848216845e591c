/* SPDX-License-Identifier: MIT */
/*
 * agent.h -- the agent's state: is it recording, and where is its ledger.
 *
 * Room:   inside; any context.
 * Keeps:  agent.gate points at a page that the kernel wipes in a forked child (MADV_WIPEONFORK),
 *         however the child was made.  GATE_ON is therefore never seen by a child that still shares
 *         the parent's ledger; it takes the slow path, agent_wake(), which decides what to do.
 */
#ifndef SEEP_AGENT_AGENT_H
#define SEEP_AGENT_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#include "book/book.h"
#include "wire/hello.h"

enum gate { GATE_ASLEEP = 0, GATE_ON = 1, GATE_OFF = 2 };
enum follow { FOLLOW_NONE, FOLLOW_EXEC, FOLLOW_ALL };

/* What an event must do besides; none in most runs. */
enum special {
        SPECIAL_OFF = LEDGER_SPECIAL_OFF, /* new blocks are not recorded */
        SPECIAL_ERAS = 2,    /* there are marks: deaths are counted by era */
        SPECIAL_RING = 4, /* events are written down */
        SPECIAL_LIMIT = 8,   /* live bytes are compared with a limit after each allocation */
        SPECIAL_REFUSE = 16, /* ... and before */
        SPECIAL_POOLS = 32,  /* the program told of blocks of its own inside others */
        SPECIAL_SAMPLE = 64, /* a few blocks stand for all (sample.h); none of the
                              * others but OFF, ERAS and POOLS */
        SPECIAL_QUARANTINE = 128, /* freed blocks are kept back for a while (quarantine.h) */
        SPECIAL_FILL = 256,       /* fresh and freed memory is overwritten (fill.h) */
        SPECIAL_OMIT = 512,       /* blocks of some callers are not recorded (omit.h) */
        SPECIAL_ANY = 0xffff, /* above it: SEEP_ENABLEs less SEEP_DISABLEs, in the same word as OFF,
                               * so that both change at once; half a word is tested as quickly */
        SPECIAL_LEVEL = 16
};

struct agent {
        volatile uint32_t *gate;
        struct ledger_head *head; /* of agent_book, for short */
        uint32_t special; /* SPECIAL_*, and the level of the switch */
        uint32_t flags;    /* WIRE_F_* */
        uint32_t follow;
        uint32_t glibc;  /* the allocator is glibc's */
        uint32_t started; /* 0 never, 1 on the way, 2 done */
        uint32_t pid;
        uint32_t stream; /* events are written to a journal, and nobody observes (stream.h) */
        uint32_t unfollowed; /* a forked child that is not recorded, and has not allocated yet */
        uint32_t sandboxed; /* the program may make few system calls only from now on (seccomp): so
                             * do we */
        uint32_t generation; /* raised when code was unmapped: cached rules and stacks are void */
        uint32_t observer; /* its process, as it sees itself */
        uint32_t signal; /* that asks for a snapshot; 0 none */
        uint64_t limit, snapshot_at; /* live bytes that must not be passed, or at which a
                                      * snapshot is taken; 0 none */
        uint64_t sample; /* one block in so many bytes is recorded; 0 all */
        uint64_t ledger_limit; /* bytes of memory that the ledger may take; 0 any */
        uint64_t quarantine; /* bytes of freed blocks to keep back; 0 none */
        uint32_t fill;       /* 256 + the byte for fresh and freed memory; 0 none */
        uint64_t heap_start;  /* where brk() began */
        uint64_t stack_start; /* of the main thread, as the kernel gave it */
        uint64_t loader, loader_bytes; /* glibc's loader: where its code is; 0 none */
        const char *socket;
        char omit[REGEX_MAX + 1]; /* objects whose path matches are left out; "" none */
        bool emulated; /* by qemu: memory that is reserved is not free, nothing is wiped in a child,
                        * and signals that end the program are better left alone */
};

static inline int32_t special_level(uint32_t word)
{
        return (int16_t)(word >> SPECIAL_LEVEL);
}

/* Hidden where they are declared, not only where they are defined: else each use would take their
 * address from the loader's table first. */
extern struct agent agent __attribute__((visibility("hidden")));
extern struct book agent_book __attribute__((visibility("hidden"))); /* of this process */

/* The rest is in start.c, which includes whatever has a start; nothing but the state is here.
 *
 * Called when the gate is not GATE_ON: first call of all, forked child, or switched off.  True:
 * record. */
bool agent_wake(void);

/* Allow the observer to read our memory. */
void agent_let_in(void);

/* Another observer, as SESSION says, the value of SEEP_SESSION; the rest of that is as before. */
void agent_reassign(const char *session);

/* Stop recording for good; the program goes on.  The first reason is kept for the user. */
void agent_stop(enum ledger_stop reason);

/* In a child of an emulated program: the gate is as the kernel would have left it. */
void agent_wipe(void);

static inline uint32_t agent_now_ms(void)
{
        return book_now_ms(&agent_book);
}

static inline bool agent_on(void)
{
        return likely(*agent.gate == GATE_ON) || agent_wake();
}

#endif
