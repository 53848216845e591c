/* SPDX-License-Identifier: MIT */
/*
 * sandbox.h -- system call filters (seccomp): whether they allow the calls that a thread or an
 * agent makes for us.
 */
#ifndef SEEP_ATTACH_SANDBOX_H
#define SEEP_ATTACH_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/inject.h"

/* Whether TID has no filter but those that we run under ourselves, as in a container:
 * they let such calls pass. */
bool sandbox_is_ours(pid_t tid);

/* Whether TID, which the caller traces and which stands still, may have a filter: one system call,
 * where the kernel lets us ask. */
bool sandbox_may_filter(pid_t tid);

/* The filters of TID, which the caller traces and which stands still.  COUNT, SIZES of each,
 * are in CODE, with room for WIRE_FILTERS_ROOM instructions.  False: there are too many, or the
 * kernel does not tell: only root, who must be under none. */
struct sandbox_filters {
        uint32_t depth, count; /* as the kernel counts them; of those in CODE */
        uint32_t sizes[WIRE_INJECT_FILTERS];
        struct wire_instruction *code;
};

bool sandbox_read(pid_t tid, struct sandbox_filters *out);

#define PROBE_MAX 64u

/* The numbers of the system calls of an agent that would be the end of a process under
 * the filters that we run under, which a program that we start inherits: found out by
 * children of ours that make them. */
size_t probe_forbidden(uint32_t out[PROBE_MAX]);

#endif
