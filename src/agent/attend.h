/* SPDX-License-Identifier: MIT */
/*
 * attend.h -- plain LD_PRELOAD: nobody observes us yet, so the tool is started.
 *
 * Room:   inside; at the start, with all signals blocked.
 */
#ifndef SEEP_AGENT_ATTEND_H
#define SEEP_AGENT_ATTEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Start the tool and write the session that it offers to OUT (wire/hello.h).  MASK:
 * the program's signal mask. */
bool attend_start(char *out, size_t room, uint64_t mask);

/* After attend_start: recording could not begin.  Tell so. */
void attend_failed(void);

/* The program is about to exit: wait until the last report is written. */
void attend_exit(void);

#endif
