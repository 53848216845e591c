/* SPDX-License-Identifier: MIT */
/* warnings.h -- warnings about a recording: what is missing in it, and why. */
#ifndef SEEP_COLLECT_WARNINGS_H
#define SEEP_COLLECT_WARNINGS_H

#include <stdint.h>

#include "collect/view.h"
#include "profile/model.h"

/* What the agent noted.  SENSELESS: entries of blocks that were left out. */
void warnings_ledger(const struct view *v, uint64_t senseless, struct profile *p);

/* LOST: marks that there was no memory for on our side. */
void warnings_marks(uint64_t lost, struct profile *p);

/* The kernel ended the process for lack of memory. */
void warnings_starved(struct profile *p);

/* The process is gone: its two books must agree. */
void warnings_books(const struct view *v, struct profile *p);

#endif
