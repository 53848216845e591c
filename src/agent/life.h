/* SPDX-License-Identifier: MIT */
/*
 * life.h -- fork: a child either stops recording or gets a ledger of its own.
 *
 * Room:   inside.
 */
#ifndef SEEP_AGENT_LIFE_H
#define SEEP_AGENT_LIFE_H

#include <stdbool.h>

/* Before fork() in a process whose children are followed: a copy of the ledger for the child, as a
 * descriptor; negative: none. */
long life_before_fork(void);

/* After fork(), in the parent: the copy is the child's now; FORKED: there is a child. */
void life_parent(long copy, bool forked);

/* A program is about to be started under the filters that hold here; ON false: it was not. */
void life_starts(bool on);

/* The process is about to become another program; ON false: it did not. */
void life_leaving(bool on);

/* In a child, at its first event or right after fork(): go on with the ledger COPY (negative: make
 * one now, as well as that can be done), or stop.  True: record. */
bool life_child(long copy);

/* In a child that is not recorded: it has allocated something. */
void life_allocated(void);

#endif
