/* SPDX-License-Identifier: MIT */
/*
 * probe.h -- which system calls of an agent would be the end of a process under the filters (seccomp) that we run under.
 *
 * Room:   outside.  A program that we start inherits our filters.
 */
#ifndef SEEP_ATTACH_PROBE_H
#define SEEP_ATTACH_PROBE_H

#include <stddef.h>
#include <stdint.h>

#define PROBE_MAX 64u

/* The numbers of those calls, found out by children of ours that make them. */
size_t probe_forbidden(uint32_t out[PROBE_MAX]);

#endif
