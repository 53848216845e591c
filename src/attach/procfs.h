/* SPDX-License-Identifier: MIT */
/*
 * procfs.h -- what the kernel says about a process and its threads (/proc).
 *
 * Keeps:  TID may be the PID; files of a process whose first thread has ended are
 *         found through another thread.
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

/* The last number in line KEY of "status", written in BASE; FALLBACK when there is no such line. */
uint64_t procfs_status(pid_t pid, pid_t tid, const char *key, int base, uint64_t fallback);

/* 'R', 'S', 'D', 'T', 't', 'Z', 'X'; 'X' also when there is no such thread. */
char procfs_state(pid_t pid, pid_t tid);

/* Name of a process, as ps shows it; "?" when there is none. */
#define PROCFS_NAME_BYTES 64u
const char *procfs_name(pid_t pid, char out[PROCFS_NAME_BYTES]);

/* PID; or, where the first thread has ended before the others, the number of one of these: the
 * kernel shows memory and files through a thread that still has them. */
pid_t procfs_living(pid_t pid);

/* ---- a process as a whole ----
 *
 * For one that has ended, or that we may not inspect, the answer is "unknown": 0, "" or false.
 */

#define PROCESS_NAME_BYTES 16u

/* /proc/PID/FILE, for reading; -1. */
int process_open(uint32_t pid, const char *file);

/* Its memory, to be read and written; -1: that is not permitted, or it is gone. */
int process_open_memory(uint32_t pid);

/* The target of the link FILE (cwd, exe); the caller's to free(). */
char *process_link(uint32_t pid, const char *file);

/* Device and inode of the program's file. */
bool process_exe(uint32_t pid, uint64_t *dev, uint64_t *ino);

/* The start of the program's stack: random, so it differs after exec. */
uint64_t process_stack(uint32_t pid);

/* Whether the file with INODE is mapped; true also when that cannot be seen. */
bool process_maps(uint32_t pid, uint64_t inode);

uint32_t process_threads(uint32_t pid); /* 0: it is gone */
uint32_t process_parent(uint32_t pid);

/* How long it has existed; UINT64_MAX: unknown. */
uint64_t process_age_ms(uint32_t pid);

/* The number of children in OUT, which holds MAX. */
uint32_t process_children(uint32_t pid, uint32_t *out, uint32_t max);

/* 'R' runs, 'S' sleeps, 'T' is stopped, ... */
char process_state(uint32_t pid);

/* Whether it has never waited for a child: then what the kernel counts for the process is its
 * own. */
bool process_is_childless(uint32_t pid);

/* The peak of resident memory, in bytes. */
uint64_t process_peak_rss(uint32_t pid);

/* Resident anonymous memory, in bytes. */
uint64_t process_anonymous(uint32_t pid);

bool process_thread_name(uint32_t pid, uint32_t tid, char out[PROCESS_NAME_BYTES]);

#endif
