/* SPDX-License-Identifier: MIT */
/* refusal.h -- why the kernel does not allow stopping a process, and what to do about it. */
#ifndef SEEP_ATTACH_REFUSAL_H
#define SEEP_ATTACH_REFUSAL_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/* PTRACE_SEIZE of TID in PID failed with ERROR: find out why.  Returns false with E filled. */
bool refusal_explain(pid_t pid, pid_t tid, int error, struct err *e);

/* Whether PID is a process with memory to look at; false: E says why not, whoever asks: it is gone
 * or hidden, a thread of another, a zombie, or a thread of the kernel. */
bool refusal_possible(pid_t pid, struct err *e);

/* Whether the agent could read what the kernel tells of PID, from inside of it; false: E. */
bool refusal_sees_itself(pid_t pid, struct err *e);

/* Whether an agent can be written into PID: its program is of our kind, or of the other word size
 * that the kernel runs, and the agent for that is there; false: E says how it is recorded
 * instead. */
bool refusal_is_own_kind(pid_t pid, struct err *e);

#endif
