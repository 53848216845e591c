/* SPDX-License-Identifier: MIT */
/*
 * sandbox.c -- whether a filter of system calls (seccomp) would object to what we have a thread call.
 *
 * Room:   outside; the tracer.
 */
#include "attach/sandbox.h"

#include <unistd.h>

#include "attach/procfs.h"

#define SANDBOX_FORBIDDEN 1u /* the strict mode of old: four calls and no more */

static uint64_t mode(pid_t tid)
{
        return procfs_status(tid, tid, "Seccomp", 10, 0);
}

static uint64_t filters(pid_t tid)
{
        return procfs_status(tid, tid, "Seccomp_filters", 10, 0);
}

/* Below the process that started us, or below ourselves. */
static bool is_relative(pid_t tid)
{
        while (tid > 1 && tid != getppid() && tid != getpid())
                tid = (pid_t)procfs_status(tid, tid, "PPid", 10, 0);
        return tid > 1;
}

/* Filters are inherited, added, and never taken away: with a common ancestor the same number means the same filters. */
bool sandbox_is_ours(pid_t tid)
{
        uint64_t theirs = mode(tid);

        return theirs == 0 || (theirs != SANDBOX_FORBIDDEN && filters(tid) > 0 && filters(tid) == filters(getpid()) && is_relative(tid));
}
