/* SPDX-License-Identifier: MIT */
/*
 * log.h -- the event log of a recording as allocations and frees on the heap.
 *
 * Keeps:  only blocks of the selection's stacks (and threads) are told, each release with what is
 *         known of the block.  Memory is that of the live blocks, however long the log.  Of a
 *         range, blocks that were there before it are not told of, so that what goes has come.
 */
#ifndef SEEP_EXPORT_LOG_H
#define SEEP_EXPORT_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "export/export.h"
#include "profile/events_log.h"
#include "profile/replay.h"

struct log_event {
        bool came;          /* a block, or one that realloc failed to move is back; else it went */
        bool temporary;     /* went, as the next thing that its thread did */
        uint32_t site;      /* of the block */
        uint32_t node;      /* went: stack of the release; 0 not recorded */
        uint32_t ms;
        uint16_t thread;
        uint64_t address, size;
};

/* Where the part that was asked for begins behind, or ends. */
struct log_bound {
        uint64_t mark;   /* at the event of this mark; UINT64_MAX: not at one, but ... */
        uint64_t number; /* ... behind this event, and ... */
        uint64_t ms;     /* ... from this time on */
};

struct log {
        const struct export_input *in;
        struct events_log *events;
        struct replay *replay;
        uint8_t *chosen;  /* by site */
        uint64_t *newest; /* by thread: the block that was its last event; 0 none */
        struct log_bound from, to;
        uint64_t first; /* event of the part that was asked for, counted from 1; 0 not yet */
        bool ended;     /* that part, before the log */
};

/* false: there is no log, or no file; E says how to get one. */
bool log_open(struct log *l, const struct export_input *in, struct err *e);
void log_close(struct log *l);

/* The next one; false at the end. */
bool log_next(struct log *l, struct log_event *out);

#endif
