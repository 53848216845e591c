/* SPDX-License-Identifier: MIT */
/*
 * beside.h -- another seep that records a process for as long as a command needs it.
 *
 * Keeps:  whoever asks about the process finds it, as if `seep attach` had been typed.
 */
#ifndef SEEP_CLI_BESIDE_H
#define SEEP_CLI_BESIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* `seep attach PID`, which writes a recording.  ENDS: with us, whatever ends us.  false: E. */
bool beside_attach(uint32_t pid, bool ends, struct err *e);

/* Where the seep that recorded PID is gone and its agent goes on: one that answers in its place
 * until we end, writes nothing, and leaves the agent at work.  true: so it is now, or PID is not
 * such a process.  false: E. */
bool beside_visit(uint32_t pid, struct err *e);

#endif
