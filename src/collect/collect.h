/* SPDX-License-Identifier: MIT */
/*
 * collect.h -- from a ledger to a profile.
 *
 * Keeps:  works on a running process too (a checkpoint); numbers are then those of about one
 *         moment.
 */
#ifndef SEEP_COLLECT_COLLECT_H
#define SEEP_COLLECT_COLLECT_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/slices.h"
#include "collect/view.h"
#include "profile/events_log.h"
#include "profile/model.h"

/* A thread's name as the kernel had it last; empty: never seen, the ledger's own is used. */
struct collect_name {
        char text[16];
        char before[16]; /* the ledger's, before the kernel was asked: where it has another one by
                          * now, that is newer */
};

struct collect_input {
        const struct view *view;     /* fresh */
        struct slices *slices;       /* moved into the profile; may be NULL */
        const struct collect_name *names; /* by thread of the ledger */
        uint32_t name_count;
        uint32_t pid;     /* of the process, while it runs; 0 it does not, or is out of reach */
        uint32_t depth;   /* innermost frames to keep, 0 all */
        struct events_ids *ids; /* for an event log: filled; NULL: there is none */
        bool ended;       /* the process is gone: the sums must agree, and are checked */
        bool no_blocks;   /* without single blocks */
        bool brief;       /* without single blocks, regions and handles: for reports about slices,
                           * which somebody waits for */
};

/* Fill P (any contents are lost, not freed) with all but meta's texts about the run: program, cwd,
 * host, engine, version, duration_ms, end and exit status are the caller's to add. */
void collect(const struct collect_input *in, struct profile *p);

/* How many of P's regions, which are in order, begin up to ADDRESS. */
uint32_t collect_regions_up_to(const struct profile *p, uint64_t address);

/* Append a sentence for the user to P's warnings. */
void collect_warn(struct profile *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- the command line as it was typed ---- */

/* Take what the kernel put in front of the arguments of a script out of M. */
void typed_arguments(struct profile_meta *m);

#endif
