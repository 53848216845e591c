/* SPDX-License-Identifier: MIT */
/*
 * scan.h -- one leak search in a process, from the stop to the verdicts.
 *
 * Room:   outside, in a process of its own: when that is killed, the program goes on.
 * Keeps:  the program is held only as long as its memory is needed: until a copy of it is made, or
 *         (when none can be had) until the search is over.
 */
#ifndef SEEP_SCAN_SCAN_H
#define SEEP_SCAN_SCAN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/core.h"
#include "attach/freeze.h"
#include "base/err.h"
#include "collect/view.h"
#include "profile/model.h"

#define SCAN_GRAPH_BLOCKS 1000000u /* with so many blocks the graph is kept only when asked for */

/* A block that was lost at an earlier search.  Sorted by address. */
struct scan_lost {
        uint64_t address;
        uint64_t birth_ms;
};

#define SCAN_KILLED "the copy of the program that was searched has been killed"

/* Who holds a process of another machine.  The ledger is that of the same moment, and does not
 * change before collect() is over. */
struct scan_far {
        void *context;
        bool (*hold)(void *context, struct freeze *f, struct err *e);
};

struct scan_order {
        pid_t pid;         /* as we see it */
        const struct scan_far *far; /* NULL: it is here */
        struct view *view; /* is refreshed */
        uint32_t when;     /* enum profile_scan_when */
        uint32_t flags;    /* WIRE_SCAN_* */
        int first_tracer;  /* who traces it already (attach/first_tracer.h); 0 nobody */
        const struct scan_lost *lost; /* at the search before; NULL: there was none */
        uint64_t lost_count;
        void *context;
        /* Fill P with what the ledger has now. */
        void (*collect)(void *context, struct profile *p);
        /* All threads were stopped for a moment.  COPIED: the program may leave, if it is at its
         * end. */
        void (*stopped)(void *context, bool copied);
        /* The program is not needed any more; so many blocks are definitely lost. */
        void (*read)(void *context, uint64_t definite);
};

/* Fill P with a recording of this moment, verdicts and (if wanted) the graph.  false: the process
 * could not be searched (E says why); P then is what collect() gave, with scans[0].trouble. */
bool scan_run(const struct scan_order *o, struct profile *p, struct err *e);

/* A process that is not recorded, or a core file. */
struct scan_target {
        pid_t pid;        /* 0: CORE */
        const char *core; /* NULL: PID */
        struct core_files files;
        uint32_t flags; /* WIRE_SCAN_* */
        const struct scan_lost *lost; /* as above */
        uint64_t lost_count;
};

/* The same of T: its blocks are those that its malloc has (scan/heap_walk.h).  P is
 * empty; or, with a core, what was recorded of that process: blocks at the same
 * addresses keep their stacks. */
bool scan_unrecorded(const struct scan_target *t, struct profile *p, struct err *e);

/* How much memory a search for leaks takes at the least, as far as it can be told before. */
uint64_t scan_need(const struct view *v);

/* A search that did not happen, for this reason. */
void scan_trouble(struct profile *p, const char *why);

#endif
