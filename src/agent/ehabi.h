/* SPDX-License-Identifier: MIT */
/*
 * ehabi.h -- the unwind tables of 32-bit arm (.ARM.exidx, .ARM.extab): how to leave a frame.
 *
 * Room:   inside; any context.  Reads the mapped tables of an object, and the stack by reach.h.
 */
#ifndef SEEP_AGENT_EHABI_H
#define SEEP_AGENT_EHABI_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/cfi_bytes.h"
#include "agent/object.h"

enum ehabi_answer {
        EHABI_UNKNOWN, /* nothing is said about the address, or not in a way that is known here */
        EHABI_END,     /* nothing leads out of that code: it says so itself */
        EHABI_FOUND
};

/* Instructions for one frame: bytes, of which each word has its highest first. */
struct ehabi_code {
        uint32_t first;        /* the bytes in the first word, COUNT of them, from the highest on */
        uint32_t count;
        struct cfi_bytes rest; /* whole words that follow */
        uint64_t start;        /* of the function */
};

/* What the table of O says of the code at PC. */
enum ehabi_answer ehabi_find(const struct object *o, uint64_t pc, struct ehabi_code *out);

/* The word of the stack at AT; false: it is not there. */
typedef bool ehabi_read(void *context, uint64_t at, uint64_t *word);

/* Leave the frame whose 16 registers are R: they become the caller's, with its program counter in
 * r15.  *SAVED: the return address was on the stack, not in its register.  false: an instruction
 * that is not known, or memory that is not there. */
bool ehabi_leave(struct ehabi_code code, uint64_t *r, bool *saved, ehabi_read *read, void *context);

#endif
