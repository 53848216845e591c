/* SPDX-License-Identifier: MIT */
/*
 * inject.h -- what seep and the agent that it writes into a running process say to each other.
 *
 * Room:   both sides; the program may have words of four bytes where seep has eight.  Layout only.
 * Keeps:  the agent's image (libseep-inject.so, written as the loader would have mapped it) has one
 *         struct wire_inject, the exported symbol WIRE_INJECT.  seep fills it and the words that
 *         NAMES lists while no thread runs there, and has a thread of the process run ENTER and
 *         LEAVE, on STACK and with all signals blocked.  Both raise DONE at their end and wait to
 *         be taken away.  Before LEAVE it writes GATE_OFF at GATE.
 */
#ifndef SEEP_WIRE_INJECT_H
#define SEEP_WIRE_INJECT_H

#include <stdint.h>

#include "wire/address.h"
#include "wire/filters.h"
#include "wire/hello.h"

#define WIRE_INJECT "seep_inject"
#define WIRE_INJECT_STACK (64u << 10)
#define WIRE_INJECT_ROOM (128u << 10)
#define WIRE_INJECT_PATH 4096u

/* A function that the agent may stand in for, or calls: seep puts its address, or that of the way
 * past the patch, into *WORD. */
struct wire_inject_name {
        union wire_address symbol; /* of its name */
        union wire_address word;   /* a pointer of the program's size */
};

/* The state of a thread is found by its thread pointer: the table is searched from the place that
 * wire_inject_place() tells, over WIRE_INJECT_WINDOW cells, until one of that pointer or an empty
 * one. */
#define WIRE_INJECT_CELL_BITS 16u
#define WIRE_INJECT_CELLS (1u << WIRE_INJECT_CELL_BITS)
#define WIRE_INJECT_WINDOW 64u

struct wire_inject_cell {
        uint64_t pointer; /* the thread pointer; 0: the cell is empty */
        uint64_t state;   /* struct thread of the agent; its first two: 0 unless it is inside */
        uint64_t check;   /* what was at TID_AT when it was filled: another thread has another */
};

/* A function of the program's own that leads to one of the agent's SLOTS (attach/hooks.h).
 * Arguments are counted from 1; 0: there is none. */
#define WIRE_INJECT_SLOTS 64u

enum wire_slot_does {
        WIRE_SLOT_ALLOC,   /* returns a block */
        WIRE_SLOT_STORE,   /* ... in the place that BLOCK points to, and 0 */
        WIRE_SLOT_REALLOC, /* returns what becomes of BLOCK */
        WIRE_SLOT_FREE     /* BLOCK goes */
};

/* Which function it is like, for reports. */
enum wire_slot_kind {
        WIRE_SLOT_MALLOC,
        WIRE_SLOT_CALLOC,
        WIRE_SLOT_RESIZED,
        WIRE_SLOT_ALIGNED,
        WIRE_SLOT_STORED,
        WIRE_SLOT_KINDS
};

struct wire_inject_slot {
        uint64_t real; /* the way past the patch */
        uint8_t does;
        uint8_t size, count, block; /* which arguments: bytes, times so many, and which block */
        uint8_t kind;               /* enum wire_slot_kind */
        uint8_t pool; /* a block inside of memory that is the program's otherwise (SEEP_ALLOC) */
        uint8_t one_way; /* how its blocks are released is not seen */
        uint8_t reserved;
};

#define WIRE_INJECT_FILTERS 64u

struct wire_inject {
        union wire_address enter, leave; /* functions that do not return */
        union wire_address stack;        /* WIRE_INJECT_STACK bytes for them */
        union wire_address names;        /* struct wire_inject_name[NAME_COUNT] */
        uint64_t name_count;
        union wire_address cells;        /* struct wire_inject_cell[WIRE_INJECT_CELLS] */
        union wire_address room;         /* WIRE_INJECT_ROOM bytes, seep's own: what it changed */
        union wire_address slots;        /* struct wire_inject_slot[WIRE_INJECT_SLOTS] */
        union wire_address slot_hooks;   /* where calls of them go: one for each slot */
        union wire_address filter_code;  /* struct wire_instruction[WIRE_FILTERS_ROOM] */
        union wire_address gate; /* a word that lets nobody in any more when it is GATE_OFF */
        uint32_t gate_off, reserved;

        /* For ENTER. */
        uint64_t tid_at; /* where the C library keeps the number of a thread, from its pointer */
        uint32_t glibc;  /* malloc is glibc's own */
        uint32_t fresh;  /* nothing was allocated before it */
        uint64_t inner, inner_end; /* glibc's malloc: its code, which releases again what is free
                                    * already */
        /* Filters of system calls that hold in the process, but not for who runs ENTER: as the
         * kernel counts them, how many are in FILTER_CODE, and how many instructions each has. */
        uint32_t filter_depth, filter_count;
        uint32_t one_way, reserved_too; /* slots that are */
        uint32_t filter_sizes[WIRE_INJECT_FILTERS];
        char session[WIRE_SESSION_MAX];
        char library[WIRE_INJECT_PATH]; /* for programs that this one becomes or starts */

        /* What came of it. */
        volatile uint32_t done;  /* WIRE_INJECT_*, below */
        volatile int32_t ledger; /* ENTER: its descriptor; negative: none */
        volatile uint32_t taken; /* seep's: it has a descriptor of its own for the ledger */
};

/* Of DONE. */
#define WIRE_INJECT_OVER 1u
#define WIRE_INJECT_GIVES 2u /* ENTER: waits until the ledger is TAKEN */

static inline uint32_t wire_inject_place(uint64_t pointer)
{
        return (uint32_t)((pointer * 0x9e3779b97f4a7c15ull) >> (64 - WIRE_INJECT_CELL_BITS));
}

#endif
