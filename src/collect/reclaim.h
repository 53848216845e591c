/* SPDX-License-Identifier: MIT */
/*
 * reclaim.h -- the memory of a ledger: given back where no block is left; its size is told to a
 * program with --limit-ledger.
 *
 * Keeps:  an entry of a live block is never lost: the program is told which pages are wanted, and
 *         whoever claims one first has it (ledger.h, book/shadow.c).  Nobody waits, except a thread
 *         that allocates in the very microseconds in which its page goes.  What is lost are
 *         tombstones: a second release of a block that was freed more than RECLAIM_AGE_MS ago,
 *         where nothing lives in the 8 KiB around it, is seen as that of an address that is no
 *         block, without the stack of the first.  What is in the quarantine keeps its tombstone.
 * Cost:   a forked child reads the shadow (0.3 ms per MiB) when the ledger is large for the heap
 *         that it describes; seldom where that was of no use and the heap has not shrunk since.
 */
#ifndef SEEP_COLLECT_RECLAIM_H
#define SEEP_COLLECT_RECLAIM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/worker.h"
#include "collect/view.h"

#define RECLAIM_AGE_MS 10000u

struct reclaim {
        struct worker worker; /* that does it now */
        uint64_t look_ms; /* the next look whether there is something to do */
        uint64_t due_ms, wait_ms; /* the next try, should nothing change until then */
        uint64_t begin_ms, before_bytes; /* when it began, and memory of the ledger then */
        uint64_t excess_bytes; /* beyond what the heap needs: at the last try, or the least since */
};

/* At each tick.  The shadow may have memory up to byte SHADOW_END, further than it was opened
 * (ahead.h). */
void reclaim_tick(struct reclaim *r, struct view *v, uint64_t now_ms, uint64_t shadow_end);

/* Its process ended. */
void reclaim_done(struct reclaim *r, struct view *v, uint64_t now_ms);

/* The work itself: pages of the shadow whose blocks were all freed before LIMIT_MS are punched out
 * of the ledger.  Returns the bytes. */
uint64_t reclaim_work(const struct view *v, uint32_t limit_ms);

/* ---- how much memory the ledger of a program takes, told to the program when that is limited
 * (record --limit-ledger) ---- */

/* Look, and tell.  CALM: nobody else has the threads of the program look at the ledger just now. */
void share_tick(struct view *v, bool calm);

#endif
