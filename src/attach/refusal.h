/* SPDX-License-Identifier: MIT */
/*
 * refusal.h -- why the kernel does not let us stop a process, and what to do about it.
 *
 * Room:   outside.
 */
#ifndef SEEP_ATTACH_REFUSAL_H
#define SEEP_ATTACH_REFUSAL_H

#include <sys/types.h>

#include "base/err.h"

/* PTRACE_SEIZE of TID in PID failed with ERROR: find out why.  Returns false with E filled. */
bool refusal_explain(pid_t pid, pid_t tid, int error, struct err *e);

#endif
