/* SPDX-License-Identifier: MIT */
/*
 * rule.h -- how to leave a frame, in one word per return address.
 *
 * Room:   inside; any context.
 *
 * A rule is a function of the address alone (as long as the same code is mapped there):
 *
 *   bits 0-1    where the CFA (the caller's stack pointer) comes from: RULE_CFA_*
 *   bits 2-3    where the caller's frame pointer comes from: RULE_BASE_*
 *   bits 4-7    with RULE_CFA_SPECIAL: RULE_END, ...
 *   bits 8-47   offsets, signed: below
 *   bits 48-62  number of the object
 *   bit  63     set, so that no rule is 0
 *
 * Where the return address always lies at CFA + ARCH_RETURN_AT, bits 8-31 are the offset for the
 * CFA, 32-47 that of the frame pointer.  Where it was in a register and is saved anywhere in the
 * frame, frames are made of words, and three offsets count these: 8-21 for the CFA, 22-34 for the
 * return address, 35-47 for the frame pointer.  What does not fit is RULE_GENERIC and goes through
 * unwind.c, as does everything on processors without ARCH_FAST_CAPTURE.
 */
#ifndef SEEP_AGENT_RULE_H
#define SEEP_AGENT_RULE_H

#include "agent/thread.h"

enum { RULE_CFA_STACK = 0, RULE_CFA_BASE = 1, RULE_CFA_AT_BASE = 2, RULE_CFA_SPECIAL = 3 };
/* RULE_BASE_AT_CFA: near enough below the CFA to be readable with it (REACH_BELOW).
 * RULE_BASE_FAR: the same further away. */
enum { RULE_BASE_SAME = 0, RULE_BASE_AT_CFA = 1, RULE_BASE_AT_BASE = 2, RULE_BASE_FAR = 3 };
enum { RULE_END = 0, RULE_SIGNAL = 1, RULE_GENERIC = 2, RULE_NO_CFI = 3 };

#define RULE_CFA(r) ((unsigned)(r) & 3u)
#define RULE_BASE(r) ((unsigned)(r) >> 2 & 3u)
#define RULE_SPECIAL(r) ((unsigned)(r) >> 4 & 15u)
#if ARCH_RETURN_AT
#define RULE_CFA_OFFSET(r) ((int64_t)((int32_t)(uint32_t)(r) >> 8))
#define RULE_BASE_OFFSET(r) ((int64_t)(int16_t)((r) >> 32))
#define RULE_RETURN_OFFSET(r) ((int64_t)ARCH_RETURN_AT)
#else
#define RULE_WORDS(r, from, bits) \
        (((int64_t)((uint64_t)(r) << (64 - (from) - (bits))) >> (64 - (bits))) * 8)
#define RULE_CFA_OFFSET(r) RULE_WORDS(r, 8, 14)
#define RULE_RETURN_OFFSET(r) RULE_WORDS(r, 22, 13)
#define RULE_BASE_OFFSET(r) RULE_WORDS(r, 35, 13)
#endif
#define RULE_OBJECT(r) ((uint32_t)((r) >> 48) & 0x7fffu)
#define RULE_VALID (1ull << 63)

/* Whether leaving the frame reads its frame pointer. */
#define RULE_USES_BASE(r)                                                   \
        (RULE_CFA(r) == RULE_CFA_BASE || RULE_CFA(r) == RULE_CFA_AT_BASE || \
         RULE_BASE(r) == RULE_BASE_AT_BASE ||                               \
         (RULE_CFA(r) == RULE_CFA_SPECIAL && RULE_SPECIAL(r) == RULE_NO_CFI))

/* Whose code a frame at PC is: that of the call in front of it, unless PC is EXACT.  Nobody calls
 * what a signal handler returns to, and it may be the first of its memory. */
uint32_t rule_object(uint64_t pc, bool exact);

/* Whether PC, a return address in the code of O, is that of a trampoline whose frame is known
 * without unwind tables: TRAMPOLINE_FRAME bytes (arch/trampoline.h).  Python makes one for each
 * function, and nothing else in their place. */
bool rule_is_trampoline(const struct object *o, uint64_t pc);

/* The rule for PC (with FRAME_EXACT), from the table of all threads or from the unwind tables. */
uint64_t rule_find(struct thread *t, uint64_t pc);

bool rule_start(void);
void rule_forked(void);

static inline uint32_t rule_hash(uint64_t pc, unsigned bits)
{
        return (uint32_t)((pc * 0x9e3779b97f4a7c15ull) >> (64 - bits));
}

#endif
