/* SPDX-License-Identifier: MIT */
/*
 * limit.h -- a guard on live memory: --limit-heap and --snapshot-at-heap.
 *
 * Room:   inside; any context, with the thread THREAD_ACTIVE.
 * Keeps:  with several threads the sum of live bytes is as exact as the peak's (peak.h).
 */
#ifndef SEEP_AGENT_LIMIT_H
#define SEEP_AGENT_LIMIT_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/agent.h"
#include "agent/thread.h"

void limit_start(void);

/* After an allocation: has something been passed? */
void limit_check(struct thread *t);

/* Before an allocation of SIZE bytes for the code before PC: must it fail?  What is left out
 * (omit.h) does not count. */
bool limit_refuses(struct thread *t, size_t size, uint64_t pc);

/* Whether there is a limit for that code at all; with SPECIAL_REFUSE only. */
bool limit_holds_for(uint64_t pc);

/* The same for a call that a real operator new makes in turn: it tries again after
 * a new_handler made room. */
size_t limit_inner_size(size_t size);

/* A size that no allocator can serve: given in place of a refused one, so that the real
 * function fails in its own way. */
#define LIMIT_IMPOSSIBLE (~(size_t)0 / 2 + 1)

/* In a hook that allocates SIZE bytes for `caller`: replace it if it must be refused. */
#define LIMIT_SIZE(t, size, bytes)                              \
        do {                                                    \
                if (unlikely(agent.special & SPECIAL_REFUSE) && \
                    limit_refuses(t, bytes, caller.pc))         \
                        (size) = LIMIT_IMPOSSIBLE;              \
        } while (0)

#endif
