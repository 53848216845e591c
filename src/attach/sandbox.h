/* SPDX-License-Identifier: MIT */
/*
 * sandbox.h -- whether a filter of system calls (seccomp) would object to what we have a thread call.
 *
 * Room:   outside; the tracer.
 */
#ifndef SEEP_ATTACH_SANDBOX_H
#define SEEP_ATTACH_SANDBOX_H

#include <stdbool.h>
#include <sys/types.h>

/* Whether TID has no filter but those that we run under ourselves, as in a container: they let such calls pass. */
bool sandbox_is_ours(pid_t tid);

#endif
