/* SPDX-License-Identifier: MIT */
/*
 * ahead.h -- memory of a ledger in huge pages, prepared before the program needs it.
 *
 * The program pays a page fault for each 4 KiB of its ledger that it is the first to touch: for a
 * heap that grows, half as many again as for the heap itself.  A part of 2 MiB that is one huge
 * page costs it one.  The kernel makes such pages of a memfd only when it is told to
 * (MADV_COLLAPSE, Linux 6.1), and that takes 0.1 to 0.3 ms: so it is done here, where the program
 * does not wait for it.  When we come too late, or the kernel cannot, nothing changes.
 *
 * Keeps:  what is made and not needed is bounded.  Tables of stacks and counters have no holes:
 *         one part, when the one before is nearly full.  The shadow, from its fifth chunk on, while
 *         three quarters of its pages are in use: one chunk in eight of those in use, 6 at most;
 *         reclaim.h gives back what nobody came to.  Nothing is made where memory is scarce, where
 *         the ledger has a limit (record --limit-ledger) or is a sample's, or where what we take
 *         counts in another cgroup than what the program takes.
 * Cost:   a few loads at each tick; 0.2 ms of processor time for each part.
 */
#ifndef SEEP_COLLECT_AHEAD_H
#define SEEP_COLLECT_AHEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/view.h"

#define AHEAD_TABLES 3u

struct ahead {
        uint32_t made[AHEAD_TABLES]; /* parts of each, from the first on: made, or too late for */
        uint32_t chunks;     /* of the shadow, at the last look */
        uint32_t failures;   /* one after another */
        uint32_t since_room; /* parts made since it was last seen that there is memory enough */
        bool begun, useless; /* it was asked whether it can be done; it cannot */
};

/* At each tick of process PID. */
void ahead_tick(struct ahead *a, struct view *v, uint32_t pid);

/* Parts of the shadow, in bytes from its beginning on, that may have memory though nobody has
 * opened them. */
uint64_t ahead_shadow_end(const struct ahead *a);

/* Some of that was given back. */
void ahead_forget(struct ahead *a);

#endif
