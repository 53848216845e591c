/* SPDX-License-Identifier: MIT */
/* family.h -- the processes that belong to a session, found without their help. */
#ifndef SEEP_SESSION_FAMILY_H
#define SEEP_SESSION_FAMILY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Whether the environment that PID was started with names our library in LD_PRELOAD. */
bool family_has_preload(pid_t pid);

/* Whether our library is mapped in PID. */
bool family_has_agent(pid_t pid);

/* Whether an agent in PID, however it came in, goes on for nobody: its observer is gone, or has
 * left it. */
struct family_orphan {
        uint64_t ledger, ledger_bytes; /* where in its memory */
        uint64_t rejoin;     /* where another observer begins (wire/rejoin.h) */
        const char *obstacle; /* why none can; NULL */
};

bool family_is_orphan(pid_t pid, struct family_orphan *out);

/* A running process with the agent in it whose environment names the session SESSION;
 * 0 when there is none.  A forked child says hello at its first event, so it may be
 * here before it is heard of. */
pid_t family_find(const char *session);

/* A running process with the agent in it that is not KNOWN and may be of SESSION, also when it has
 * overwritten its environment; 0 when there is none. */
pid_t family_other(const char *session, bool (*known)(void *context, pid_t pid), void *context);

#endif
