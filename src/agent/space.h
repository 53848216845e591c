/* SPDX-License-Identifier: MIT */
/*
 * space.h -- the limit on address space of a program that comes without a ledger.
 *
 * Room:   inside; before exec, also in a child of vfork.
 * Keeps:  the kernel's limit is higher than the one that the program set, by the reservation of the
 *         ledger (hooks_limit.c), and programs inherit it.  One that is recorded has a ledger too;
 *         any other must find the limit that was set.
 */
#ifndef SEEP_AGENT_SPACE_H
#define SEEP_AGENT_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#define SPACE_LIMIT 9 /* RLIMIT_AS */
#define SPACE_NONE (~0ull)

/* struct rlimit64. */
struct space_limit {
        uint64_t soft, hard;
};

/* What the program is told of the kernel's limit when OURS bytes are for the ledger. */
struct space_limit space_of_program(struct space_limit kernel, uint64_t ours);

/* The process is about to become FILE, as execve() finds it or, unless SEARCHED is false, execvp();
 * FILE NULL: not known.  That has no ledger.  True: it has the program's own limit now, and WAS has
 * the one before, for space_raise() if exec fails.  A hard limit can be taken back by root only: it
 * is changed when the file looks like a program. */
bool space_lower(struct space_limit *was, const char *file, bool searched);
void space_raise(const struct space_limit *was);

#endif
