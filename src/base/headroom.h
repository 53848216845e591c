/* SPDX-License-Identifier: MIT */
/*
 * headroom.h -- how much memory may be used before the kernel kills a process for it.
 *
 * Keeps:  a recorded program comes first: who works for it in a process of its own is the
 *         kernel's first victim, and takes no more than there is without asking for
 *         anything of the program's.
 */
#ifndef SEEP_BASE_HEADROOM_H
#define SEEP_BASE_HEADROOM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define HEADROOM_LIMIT_BYTES 512u

struct headroom {
        uint64_t bytes;               /* UINT64_MAX: no limit is known */
        char limit[HEADROOM_LIMIT_BYTES]; /* what sets it: "the memory limit of the cgroup /a (100
                                       * MiB)" */
};

/* What we may take: the least of what the machine has, the cgroups (version 1 and 2) of ours
 * and of process OTHER (0: only ours) with all that they are in, and our own limits.  Some of
 * it is left to others.  ROOT: "", or a directory that /proc and the mounts of
 * /proc/self/mountinfo are looked for in. */
void headroom_find(struct headroom *r, const char *root, pid_t other);

/* Whether NEED bytes are there; false: WHY, of HEADROOM_LIMIT_BYTES + 128, says what
 * there is, after "it takes". */
#define HEADROOM_WHY_BYTES (HEADROOM_LIMIT_BYTES + 128u)
bool headroom_allows(const struct headroom *r, uint64_t need, char why[HEADROOM_WHY_BYTES]);

/* Memory beyond R is refused to this process, instead of taken from others. */
void headroom_bound(const struct headroom *r);

/* When memory runs out, process PID (0: this one) is to be ended before others. */
void headroom_offer(pid_t pid);

/* How many processes the kernel has ended for lack of memory, ever. */
uint64_t headroom_kills(void);

#endif
