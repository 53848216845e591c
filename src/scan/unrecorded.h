/* SPDX-License-Identifier: MIT */
/*
 * unrecorded.h -- a process without a ledger, or a core file: modules, threads and blocks.
 *
 * Room:   outside, in the process that makes a search.
 * Keeps:  there are no call stacks (contents.h has what stands for them).  Sizes are usable
 *         sizes: what was asked for is not written anywhere.
 */
#ifndef SEEP_SCAN_UNRECORDED_H
#define SEEP_SCAN_UNRECORDED_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/freeze.h"
#include "base/err.h"
#include "profile/model.h"
#include "scan/heap_walk.h"
#include "scan/scan_blocks.h"

struct unrecorded {
        struct scan_entries entries; /* its blocks */
        struct walk_blocks walk;
};

/* Fill P's meta with what the kernel tells about F, or its core. */
void unrecorded_about(struct profile *p, const struct freeze *f);

/* Whether P was recorded of the process whose core is F, of the file CORE; false: E says why not.
 * What an earlier search found is dropped from P. */
bool unrecorded_is_of(struct profile *p, const struct freeze *f, const char *core, struct err *e);

/* Fill P with the modules and threads of F. */
void unrecorded_modules(struct profile *p, const struct freeze *f);

/* Then fill U, to be freed with unrecorded_free(), and the blocks of P.  false: its malloc is none
 * that can be walked; E says whose it is. */
bool unrecorded_blocks(struct unrecorded *u, const struct freeze *f, struct profile *p,
                       struct err *e);
void unrecorded_free(struct unrecorded *u);

#endif
