/* SPDX-License-Identifier: MIT */
/*
 * moved_aarch64.h -- instructions of aarch64 moved to another address.
 *
 * Room:   outside; pure computing.
 * Keeps:  what depends on the place of an instruction is computed when it is moved.  x16 may be
 *         lost: who moves instructions does so where linkers' veneers may change it, at the entry
 *         of a function or behind a call.
 */
#ifndef SEEP_ATTACH_ARCH_MOVED_AARCH64_H
#define SEEP_ATTACH_ARCH_MOVED_AARCH64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MOVED_BYTES 4u /* of an instruction */
#define MOVED_REACH (127ull << 20) /* of a branch, with something to spare */
#define MOVED_LITERALS 4u

struct moved {
        uint64_t place; /* in: where CODE will be, a multiple of 8 */
        uint8_t *code;  /* in: ROOM bytes */
        uint32_t room, used;
        uint32_t literals;
        uint64_t values[MOVED_LITERALS];
        uint8_t users[MOVED_LITERALS]; /* where in CODE each is loaded */
};

/* COUNT bits of W from AT on, with their sign. */
static inline int64_t moved_signed(uint32_t w, unsigned at, unsigned count)
{
        return (int64_t)((uint64_t)w << (64 - at - count)) >> (64 - count);
}

static inline bool moved_is_jump(uint32_t w)
{
        return (w & 0xfc000000u) == 0x14000000u; /* b */
}

static inline bool moved_is_call(uint32_t w)
{
        return (w & 0xfc000000u) == 0x94000000u; /* bl */
}

static inline bool moved_is_call_through(uint32_t w)
{
        return (w & 0xfffffc1fu) == 0xd63f0000u; /* blr */
}

static inline bool moved_ends_flow(uint32_t w)
{
        return moved_is_jump(w) ||
               (w & 0xfebf0000u) == 0xd61f0000u; /* br, ret, with signatures too */
}

static inline bool moved_is_trap(uint32_t w)
{
        return (w & 0xffe0001fu) == 0xd4200000u; /* brk */
}

/* Where a branch that stands at AT leads; false: it is none. */
bool moved_target(uint32_t w, uint64_t at, uint64_t *to);

/* Whether W does the same elsewhere, by what moved_put() makes of it. */
bool moved_is_possible(uint32_t w);

/* W, which stands at AT.  These three: false: there is no room. */
bool moved_put(struct moved *m, uint32_t w, uint64_t at);

/* Go on at TO. */
bool moved_jump(struct moved *m, uint64_t to);

/* The constants that all of it loads, behind it. */
bool moved_end(struct moved *m);

/* Whether a branch reaches so far, and the branch. */
bool moved_reaches(uint64_t from, uint64_t to);
uint32_t moved_branch(uint64_t from, uint64_t to);

#endif
