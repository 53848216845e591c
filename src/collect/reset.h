/* SPDX-License-Identifier: MIT */
/*
 * reset.h -- a ledger that counts from zero again: counters are cleared, live blocks become older
 * ones.
 *
 * Keeps:  only while the process stands still, with no thread in the middle of an event.  Stacks,
 *         threads, modules, marks and invalid frees stay; mappings and resources stay counted.
 *         Live blocks of the heap lose their site and kind but not their birth: their release is no
 *         error, and is counted in ledger_head.older.
 * Cost:   all pages of the shadow that were ever used are read, and those with live blocks
 *         written: about a second for 20 million blocks.
 */
#ifndef SEEP_COLLECT_RESET_H
#define SEEP_COLLECT_RESET_H

#include <stdbool.h>

#include "base/err.h"
#include "collect/view.h"

/* Whether realloc has a block in hand just now, which is in no table. */
bool reset_must_wait(const struct view *v);

/* V is fresh.  false: it cannot be written (E); what was done until then stays. */
bool reset_ledger(const struct view *v, struct err *e);

#endif
