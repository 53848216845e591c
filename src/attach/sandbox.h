/* SPDX-License-Identifier: MIT */
/*
 * sandbox.h -- filters of system calls (seccomp): whether they would object to what we have a
 * thread or an agent call.
 */
#ifndef SEEP_ATTACH_SANDBOX_H
#define SEEP_ATTACH_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Whether TID has no filter but those that we run under ourselves, as in a container:
 * they let such calls pass. */
bool sandbox_is_ours(pid_t tid);

#define PROBE_MAX 64u

/* The numbers of the system calls of an agent that would be the end of a process under
 * the filters that we run under, which a program that we start inherits: found out by
 * children of ours that make them. */
size_t probe_forbidden(uint32_t out[PROBE_MAX]);

#endif
