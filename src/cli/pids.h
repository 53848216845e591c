/* SPDX-License-Identifier: MIT */
/*
 * pids.h -- running processes by number or name, and recording several at once.
 *
 * Room:   outside.  Each process is recorded by a child of ours, as if it were the only one.
 */
#ifndef SEEP_CLI_PIDS_H
#define SEEP_CLI_PIDS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/run.h"

struct pids {
        pid_t *list;
        uint32_t count;
};

/* WORD: a number, or the name of the only process that has it.  COMMAND is for messages.  0, or
 * after a message the status to exit with. */
int pids_add(struct pids *t, const char *command, const char *word);
void pids_free(struct pids *t);

/* Whether PATTERN, of --output, gives COUNT processes a file each; as pids_add(). */
int pids_check(uint32_t count, const char *command, const char *pattern);

/* Record all of T, and R->program_argv unless that is NULL, until they end or we are told to.
 * The status of the program (128+N when signal N killed it), or the last that is not 0. */
int pids_record(struct run *r, const struct pids *t);

#endif
