/* SPDX-License-Identifier: MIT */
/*
 * tcb.h -- the data that the C library keeps for a thread at the end of its stack: struct pthread
 * of glibc.
 *
 * Keeps:  it is found where it begins with a pointer to itself, twice; that is so on processors
 *         whose thread pointer leads to it.  On others it has the node of a list, whose neighbours
 *         lead back to it, as far from the thread pointer as in the first thread.
 */
#ifndef SEEP_SCAN_TCB_H
#define SEEP_SCAN_TCB_H

#include "attach/freeze.h"
#include "leak/search.h"

/* That of the thread with thread pointer TP: it begins there, or ends there with a head of two
 * words. */
struct search_range tcb_of(const struct freeze *f, uint64_t tp);

/* Whether that of the first thread can be recognised, so that others can. */
bool tcb_is_known(const struct freeze *f);

/* Those at the end of [START, END): how many, ROOM at most. */
uint32_t tcb_find(const struct freeze *f, uint64_t start, uint64_t end, struct search_range *found,
                  uint32_t room);

#endif
