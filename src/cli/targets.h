/* SPDX-License-Identifier: MIT */
/*
 * targets.h -- processes that run already, by their number or name, and several recorded at once.
 *
 * Room:   outside.  Each process is recorded by a child of ours, as if it were the only one.
 */
#ifndef SEEP_CLI_TARGETS_H
#define SEEP_CLI_TARGETS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/run.h"

struct targets {
        pid_t *pids;
        uint32_t count;
};

/* WORD: a number, or the name of the only process that has it.  COMMAND is for messages.  0, or
 * after a message the status to exit with. */
int targets_add(struct targets *t, const char *command, const char *word);
void targets_free(struct targets *t);

/* Whether PATTERN, of --output, gives COUNT processes a file each; as targets_add(). */
int targets_check(uint32_t count, const char *command, const char *pattern);

/* Record all of T, and R->program_argv unless that is NULL, until they end or we are told to.
 * The status of the program (128+N when signal N killed it), or the last that is not 0. */
int targets_record(struct run *r, const struct targets *t);

#endif
