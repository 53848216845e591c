/* SPDX-License-Identifier: MIT */
/*
 * events_log.h -- the event log in a file: batches as sections, and the mapping from ids in events
 * to those of the profile.
 *
 * Keeps:  reading takes the memory of one batch and of the live blocks, however long the log.
 */
#ifndef SEEP_PROFILE_EVENTS_LOG_H
#define SEEP_PROFILE_EVENTS_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "profile/events.h"

/* Events name sites and stack nodes of the ledger, in which a stack may be there twice;
 * the profile has it once. */
struct events_ids {
        uint32_t *sites, *nodes; /* by the ledger's number; the caller's to free(),
                                  * through events_ids_free() */
        uint32_t site_count, node_count;
        uint64_t first; /* events that happened before the log begins: in the parent of a forked
                         * process */
        uint64_t dropped; /* events that were in it and are no more (record --max-files) */
        const char *beside; /* the file in the same directory that has the log; NULL: this one */
};

void events_ids_free(struct events_ids *ids);

/* What the file is called in which the log of the recording PATH grows, in the same directory; from
 * the second TRY on with its number.  The caller's to free(). */
char *events_log_name(const char *path, uint32_t try);

/* No log has a larger number.  Who writes one holds a lock (flock) on it. */
#define EVENTS_LOG_TRIES 100u

/* For the writer: what a file of batches alone begins with, a batch as a section, the ids as
 * one. */
void events_log_head(struct str *out);
void events_log_batch(const struct str *batch, struct str *out);
void events_log_ids(const struct events_ids *ids, struct str *out);

struct events_log;

/* The log in the recording PATH; in the file beside it, when PATH was written before its program
 * ended; or in PATH itself, when that is such a file.  NULL: not a file of ours, not readable, or
 * (exit code 2) recorded without a log. */
struct events_log *events_log_open(const char *path, struct err *e);

/* The same when PATH is not in FOLDER, where it would be with the file beside it;
 * FOLDER may be NULL: it is. */
struct events_log *events_log_open_in(const char *path, const char *folder, struct err *e);

/* The path of the file beside the recording; NULL: the log is in the file that was named. */
const char *events_log_beside(const struct events_log *l);
void events_log_close(struct events_log *l);

/* The next event, with ids of the profile (0: not known there).  False at the end. */
bool events_log_next(struct events_log *l, struct ledger_event *e);

/* How many events happened before the first. */
uint64_t events_log_first(const struct events_log *l);

/* Whether the beginning of the log is gone (record --max-files), and how many events that
 * were; 0 then: not known. */
bool events_log_headless(const struct events_log *l);
uint64_t events_log_dropped(const struct events_log *l);

/* At the end: why there are no more events; NULL: it is the end of the recording. */
const char *events_log_why(const struct events_log *l);

/* What the sections promise, found without decoding. */
struct events_log_size {
        uint64_t bytes; /* all of it, heads of sections too */
        uint32_t batches;
};
struct events_log_size events_log_size(const struct events_log *l);

/* How many of the bytes were read. */
uint64_t events_log_done(const struct events_log *l);

#endif
