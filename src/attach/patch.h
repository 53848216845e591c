/* SPDX-License-Identifier: MIT */
/*
 * patch.h -- a function patched at its entry, which can still be called unpatched.
 *
 *     entry:  [endbr64]                     trampoline:  its first instructions, moved
 *             jmp hook  ------> hook                     jmp behind them
 *             the rest, untouched  <-------------------  (hook, when it is too far for the entry)
 *
 * Room:   outside; pure computing on bytes: who has the process writes them.
 * Keeps:  five bytes are replaced (aarch64: one instruction, two where the first signs the return
 *         address).  Of an instruction that begins in them and ends behind, the rest stays, and
 *         all that follows: a thread that stands behind them, or comes back there from a call,
 *         goes on.  So threads need to be looked at for those bytes only, and a trampoline must
 *         stay as long as the process.
 *         One file in arch/ for each processor; that of x86-64 is for programs of i386 as well.
 *         Elsewhere patch_none.c says so.
 */
#ifndef SEEP_ATTACH_PATCH_H
#define SEEP_ATTACH_PATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define PATCH_MOST 16u
#define PATCH_INSTRUCTIONS 8u
#define PATCH_TRAMPOLINE 128u

/* Where one of its first instructions is: offsets in the function and in the trampoline. */
struct patch_step {
        uint8_t at, moved;
};

struct patch {
        uint64_t entry;      /* in: its first byte */
        uint64_t hook;       /* in: where calls shall go */
        uint64_t trampoline; /* in: where `code` will be written, within patch_reach() of entry */
        uint8_t before[PATCH_MOST]; /* out: the bytes at entry */
        uint8_t after[PATCH_MOST];  /* out: what they become */
        uint8_t length; /* out: how many of them */
        uint8_t jump;   /* out: how many of those stay in front of the jump */
        uint8_t landing; /* out: bytes of a mark for targets of calls that is put in front of it */
        uint8_t used;   /* out: bytes of `code` */
        uint8_t far;    /* out: where in it the jump to the hook is; 0: there is none */
        uint8_t instructions;
        uint8_t code[PATCH_TRAMPOLINE]; /* out: to call it is to call the function as it was */
        struct patch_step steps[PATCH_INSTRUCTIONS]; /* out: as many as `instructions` */
};

/* The bytes of the function from its entry on. */
struct patch_code {
        const uint8_t *at;
        size_t bytes; /* that can be read there */
        size_t size;  /* of them the function's own: of its symbol or unwind table; 0 not known */
        size_t room;  /* in which nothing else begins: up to the next symbol; 0 not known */
        bool narrow;  /* of a program with words of 4 bytes */
};

/* Whether functions can be patched at all: this build can, on this processor. */
bool patch_is_possible(struct err *e);

/* Whether the hooks give back every register but that of the result.  Else a function must not be
 * patched whose callers' compiler knows its code: it may keep values in registers that this one
 * leaves alone. */
bool patch_keeps_registers(bool narrow);

/* How far from its entry the code that belongs to a function may lie. */
uint64_t patch_reach(bool narrow);

/* false: it cannot be patched, E says why, as what follows "NAME: ". */
bool patch_plan(struct patch *p, const struct patch_code *c, struct err *e);

/* Where a thread that stands at PC must go on when the patch has been put in place, or taken out.
 * false: where it stands. */
bool patch_enter(const struct patch *p, uint64_t pc, uint64_t *to);
bool patch_leave(const struct patch *p, uint64_t pc, uint64_t *to);

#endif
