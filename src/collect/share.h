/* SPDX-License-Identifier: MIT */
/*
 * share.h -- how much memory the ledger of a program takes, told to the program when that is limited (record --limit-ledger).
 *
 * Room:   outside.
 */
#ifndef SEEP_COLLECT_SHARE_H
#define SEEP_COLLECT_SHARE_H

#include <stdbool.h>

#include "collect/view.h"

/* Look, and tell.  CALM: nobody else has the threads of the program look at the ledger just now (collect/reclaim.h). */
void share_tick(struct view *v, bool calm);

#endif
