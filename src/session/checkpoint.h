/* SPDX-License-Identifier: MIT */
/*
 * checkpoint.h -- when a recording is written while its program still runs, and how much of it.
 *
 * Room:   outside.  The writing is done in a process of its own.
 * Keeps:  at most CHECKPOINT_EVERY_MS from the begin of one to the begin of the next, as long as
 *         those of all recordings together take less than one part in CHECKPOINT_SHARE of one
 *         processor.  Where the whole is too dear for that, single blocks are left out of it; where
 *         even that is too dear, it comes later.
 */
#ifndef SEEP_SESSION_CHECKPOINT_H
#define SEEP_SESSION_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/worker.h"

/* So that what is lost is less than 5 s, with the time that the writing takes. */
#define CHECKPOINT_EVERY_MS 4000u
#define CHECKPOINT_SHARE 100u

enum checkpoint_kind { CHECKPOINT_NONE, CHECKPOINT_LIGHT, CHECKPOINT_WHOLE };

struct checkpoint {
        struct worker writer; /* that writes one now */
        enum checkpoint_kind kind; /* of what it writes, or wrote last */
        uint64_t due_ms;           /* UINT64_MAX: never */
        uint64_t light_ns, whole_ns; /* what the last one of each kind took; 0 unknown */
        uint64_t spent_ns;           /* by all of them */
        bool failed;                 /* the last one could not be written */
};

/* What it depends on. */
struct checkpoint_state {
        uint64_t now_ms;
        uint64_t ledger_bytes; /* for a guess at what the blocks in it cost */
        uint32_t sharers;      /* recordings that are made at the same time, this one too */
};

void checkpoint_init(struct checkpoint *c, bool wanted);

/* What is to be written now. */
enum checkpoint_kind checkpoint_due(struct checkpoint *c, const struct checkpoint_state *s);

/* One of KIND is written since NOW_MS, by C->writer; that could not be started if it has no
 * process. */
void checkpoint_begun(struct checkpoint *c, enum checkpoint_kind kind, uint64_t now_ms);

/* It ended, with STATUS of waitpid(), and took CPU_NS. */
void checkpoint_done(struct checkpoint *c, int status, uint64_t cpu_ns);

#endif
