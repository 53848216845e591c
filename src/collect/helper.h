/* SPDX-License-Identifier: MIT */
/*
 * helper.h -- processes that work for the observer beside a program that runs: they must not take the memory that it needs.
 *
 * Room:   outside.  Called in the process itself, right after fork().
 * Keeps:  when memory runs out, the kernel ends a helper and not the program; and a helper ends by itself before it comes to that.
 */
#ifndef SEEP_COLLECT_HELPER_H
#define SEEP_COLLECT_HELPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/room.h"
#include "collect/view.h"

/* From now on this process is the first victim, has the memory that PROGRAM can spare (*ROOM, unless that is NULL), and calls FULL, which does
 * not return, when that is not enough; NULL: it ends without a word. */
void helper_begin(pid_t program, struct room *room, void (*full)(void));

/* How many blocks of the heap are alive, by the counters. */
uint64_t helper_blocks(const struct view *v);

/* Whether there is memory for a list of them, for whoever collects the ledger of PROGRAM; false: WHY says what there is, after "it takes". */
bool helper_may_list(const struct view *v, pid_t program, char why[ROOM_WHY_BYTES]);

#endif
