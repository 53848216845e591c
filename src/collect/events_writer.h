/* SPDX-License-Identifier: MIT */
/*
 * events_writer.h -- the events of one process, from the ring in its ledger to a file beside the
 * recording (record --events).
 *
 * Keeps:  a thread of its own reads the ring, so that nothing the observer does besides makes the
 *         program wait.  When the log ends early the program is told and writes no more events;
 *         everything else goes on.
 * Cost:   a millisecond's sleep between looks while events come, ten while none do; 40-110 ns an
 *         event.
 */
#ifndef SEEP_COLLECT_EVENTS_WRITER_H
#define SEEP_COLLECT_EVENTS_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/view.h"
#include "profile/events_log.h"
#include "profile/model.h"

struct events_writer;

/* How long a log may become. */
struct events_writer_bound {
        uint64_t bytes; /* 0 any number */
        uint32_t parts; /* 0: the log ends there.  Else it goes on with a new part of as many bytes,
                         * and so many of them are kept */
};

/* Where the recording is to be. */
struct events_writer_place {
        const char *path;
        int folder; /* the directory that it is in; the caller's */
};

/* Begin to take the events of V, which must outlive it, for a recording. */
struct events_writer *events_writer_open(const struct view *v, uint32_t pid,
                                         struct events_writer_place place,
                                         struct events_writer_bound bound);

/* Take what is there and take no more.  ENDED: the process is over; what it had
 * begun to write is left out. */
void events_writer_finish(struct events_writer *j, bool ended);

/* Put the log into P, for file_write(), with a warning when it is not whole; when it is, the peak
 * is the log's.  P refers to it until events_writer_close(). */
void events_writer_give(struct events_writer *j, struct events_ids *ids, struct profile *p);

/* P is written while the program runs, by a process of its own: it says where the log is, and what
 * the numbers in it mean.  J may be NULL. */
void events_writer_point(struct events_writer *j, struct events_ids *ids, struct profile *p);

/* KEEP: leave the file of batches where it is. */
void events_writer_close(struct events_writer *j, bool keep);

#endif
