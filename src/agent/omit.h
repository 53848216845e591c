/* SPDX-License-Identifier: MIT */
/*
 * omit.h -- programs and libraries whose allocations are left out (record --omit).
 *
 * Room:   inside; any context.
 * Cost:   with --omit, some ten instructions for each allocation from a place that was met before.
 */
#ifndef SEEP_AGENT_OMIT_H
#define SEEP_AGENT_OMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/agent.h"

/* False: no memory. */
bool omit_start(void);

/* Whether the object at PATH is to be left out; asked once, when it is first seen. */
bool omit_path(const char *path);

/* Whether the code before PC, a return address, is of such an object. */
bool omit_code(uint64_t pc);

/* Whether what the code before PC allocates is to be left out. */
static inline bool omit_caller(uint64_t pc)
{
        return (agent.special & SPECIAL_OMIT) && omit_code(pc);
}

#endif
