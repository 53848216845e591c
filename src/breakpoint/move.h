/* SPDX-License-Identifier: MIT */
/*
 * move.h -- one instruction moved to another address.
 *
 * Room:   pure computing; a file in arch/ for each processor.
 * Keeps:  what can be done by setting registers (relative jumps and calls of x86-64) is not
 *         executed at all.
 */
#ifndef SEEP_BREAKPOINT_MOVE_H
#define SEEP_BREAKPOINT_MOVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum move_how {
        MOVE_CODE,   /* BYTES are executed in its place, and jump back */
        MOVE_JUMP,   /* goes on at TO */
        MOVE_BRANCH, /* goes on at TO, if CONDITION holds */
        MOVE_CALL    /* the same as a call */
};

#define MOVE_BYTES 32u
#define MOVE_READ 16u /* bytes that an instruction may have */

struct move {
        uint8_t how, condition;
        uint8_t length; /* of the instruction */
        uint8_t count;  /* of BYTES */
        uint8_t bytes[MOVE_BYTES];
        uint64_t to;
};

/* The instruction in the first of MOVE_READ bytes of CODE, which stands at AT, is to be executed at
 * SLOT.  SLOT 0: only what does not depend on it.  False: it cannot be moved there. */
bool move_plan(struct move *m, const uint8_t *code, uint64_t at, uint64_t slot);

/* Whether CONDITION of a branch holds with these flags; x86-64. */
bool move_holds(uint8_t condition, uint64_t flags);

#endif
