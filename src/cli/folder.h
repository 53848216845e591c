/* SPDX-License-Identifier: MIT */
/*
 * folder.h -- the recordings of all processes of one run, when a command is given their folder.
 *
 * NAME.seep.d (session/children.h) stands for NAME.seep and all recordings in it; any other
 * folder for the recordings in it.
 */
#ifndef SEEP_CLI_FOLDER_H
#define SEEP_CLI_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct folder_process {
        char *path, *program;
        uint32_t pid, ppid;
        uint64_t start_ms, duration_ms;
        uint64_t peak_bytes, live_bytes, allocations, errors;
        int64_t lost_bytes; /* definitely; -1: not searched */
        bool truncated;
        uint32_t signal; /* that ended it; 0: none */
};

struct folder {
        struct folder_process *all; /* the largest peak first, or the one that lost most */
        const char *order;          /* which of these, in words */
        uint32_t count;
        uint32_t unreadable; /* files that are no recordings, or damaged: told by message() */
};

/* Whether ENTRY of a directory has the name of a recording. */
bool folder_has_recording(const char *entry);

/* Whether NAME is that of a folder of recordings. */
bool folder_is_named(const char *name);

/* Whether OPERAND (NULL: none) is a directory. */
bool folder_is(const char *operand);

/* Read what is in PATH.  false: E, there is no recording (exit code 2). */
bool folder_open(struct folder *f, const char *path, struct err *e);
void folder_close(struct folder *f);

/* The process that lost most comes first, instead of the one with the largest peak. */
void folder_by_lost(struct folder *f);

/* Append a table of the processes, with their sums below. */
void folder_table(const struct folder *f, const char *path, struct str *out);

/* Append the line that stands above what is shown of process I. */
void folder_head(const struct folder *f, uint32_t i, struct str *out);

#endif
