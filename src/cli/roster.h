/* SPDX-License-Identifier: MIT */
/*
 * roster.h -- the recordings of one run: which of them the summary is about, and a line for each
 * other one.
 *
 * Keeps:  two profiles at most, whatever the number of processes.
 */
#ifndef SEEP_CLI_ROSTER_H
#define SEEP_CLI_ROSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "profile/model.h"
#include "query/leaks.h"

struct roster_row {
        char *program, *path;
        uint32_t pid;
        uint32_t snapshots;
        uint64_t allocations, peak_bytes;
        bool missing;  /* could not be written */
        bool replaced; /* by another program, which has a row of its own if it was recorded */
        uint64_t lost_blocks, lost_bytes; /* definitely, without what is suppressed; 0,
                                           * too: it was not searched, or the summary tells */
        uint64_t errors;  /* invalid frees */
        bool killed;      /* by a signal */
        bool counted;     /* its recording was removed: roster_drop() */
};

/* A recording that the summary may be about. */
struct roster_entry {
        struct profile profile;
        uint32_t row;
        bool filled;
        bool noted; /* its row has what it lost */
};

/* Reports of snapshots of one process. */
struct roster_reports {
        uint32_t pid, count;
        char *first, *last; /* files */
};

struct roster {
        struct roster_row *rows;
        uint32_t count;
        struct roster_reports *reports;
        uint32_t reports_count;
        struct roster_entry main;    /* of the process that was started, as its last program */
        struct roster_entry busiest; /* most allocations among all others */
};

struct roster_choice {
        const struct profile *profile;
        const char *path;
};

void roster_free(struct roster *r);

/* What P lost definitely, without what the usual rules suppress.  Of a program that became another
 * one after a fork nothing: it has what its parent has. */
struct leaks_sum roster_lost(const struct profile *p);

/* A recording is finished; P may be moved out.  Of those with IS_MAIN the last counts. */
void roster_add(struct roster *r, struct profile *p, const char *path, bool is_main);
void roster_rename(struct roster *r, const char *from, const char *to);

/* A report about a snapshot of PID is in PATH. */
void roster_report(struct roster *r, uint32_t pid, const char *path);

/* The process that was started, or, when that made hardly an allocation, the busiest.  false:
 * nothing was recorded.  CHOICE is valid until the roster changes. */
bool roster_choose(const struct roster *r, struct roster_choice *choice);

/* Append a line that says so when the choice is not the process that was started, PROGRAM. */
void roster_explain(const struct roster *r, const char *program, struct str *out);

/* Remove the recordings of small processes, by REMOVE: those below 1 % of the peak of the one that
 * the summary is about, without leaks, invalid frees, signals that ended them, or snapshots. */
void roster_drop(struct roster *r, void (*remove)(void *context, const char *path), void *context);

/* Append lines about those that were not chosen, the largest peak first. */
void roster_list(struct roster *r, struct str *out);

/* How many recordings there are; a line that says how to see them together, in FOLDER. */
uint32_t roster_kept(const struct roster *r);
void roster_list_folder(const struct roster *r, const char *folder, struct str *out);

/* Append lines about snapshots and where their reports are. */
void roster_list_reports(const struct roster *r, struct str *out);

#endif
