/* SPDX-License-Identifier: MIT */
/*
 * procfs.h -- what the kernel tells about a process and its threads.
 *
 * Room:   outside.
 * Keeps:  TID may be the PID; files of a process whose first thread has ended are found through another thread.
 */
#ifndef SEEP_ATTACH_PROCFS_H
#define SEEP_ATTACH_PROCFS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"

/* /proc/PID/task/TID/FILE as text, or opened for reading; -1 and errno. */
bool procfs_text(pid_t pid, pid_t tid, const char *file, struct str *out);
int procfs_open(pid_t pid, pid_t tid, const char *file);

/* A line of "status": the last number of it, written in BASE.  FALLBACK when there is none. */
uint64_t procfs_status(pid_t pid, pid_t tid, const char *key, int base, uint64_t fallback);

/* 'R', 'S', 'D', 'T', 't', 'Z', 'X'; 'X' also when there is no such thread. */
char procfs_state(pid_t pid, pid_t tid);

/* Name of a process, as ps shows it; "?" when there is none. */
#define PROCFS_NAME_BYTES 64u
const char *procfs_name(pid_t pid, char out[PROCFS_NAME_BYTES]);

#endif
