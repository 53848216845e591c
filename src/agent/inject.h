/* SPDX-License-Identifier: MIT */
/*
 * inject.h -- the agent in a process that it was written into: its start and its end.
 *
 * Room:   inside; at the start, and in the library of that name only (INJECTED): else nobody is
 *         there to ask.
 */
#ifndef SEEP_AGENT_INJECT_H
#define SEEP_AGENT_INJECT_H

#include <stdbool.h>

#include "agent/own.h"

#ifdef SEEP_INJECTED

/* The ledger FD stays open, for seep to take. */
bool inject_hand_over(long fd);

#else

static inline bool inject_hand_over(long fd)
{
        return fd < 0;
}

#endif

#endif
