/* SPDX-License-Identifier: MIT */
/*
 * inject.h -- the agent written into a running process, and removed from it.
 *
 *     libseep-inject.so --image.h--> memory of the process          by system calls that a thread
 *     of it makes (remote.h) its functions     --entries.h, patch.h--> lead to the agent   while
 *     all of them stand still (hold.h)
 *
 * Room:   outside; the tracer.
 * Keeps:  nothing of the process's own code runs for us: no loader, no C library.  What was changed
 *         is written down in the process itself, so that another seep can take it out again. Memory
 *         of the agent stays mapped when it has left, asleep: a thread may still be on its way out.
 *         Who comes back uses it again.
 */
#ifndef SEEP_ATTACH_INJECT_H
#define SEEP_ATTACH_INJECT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/custom.h"
#include "attach/hold.h"
#include "base/err.h"
#include "base/str.h"

struct inject_request {
        const char *image;   /* path of libseep-inject.so */
        const char *library; /* path of libseep.so, for programs that the process starts */
        const char *session; /* as in SEEP_SESSION */
        uint32_t flags;      /* WIRE_F_* */
        bool fresh;          /* nothing was allocated before */
        bool touches; /* blocks are filled or kept back: only malloc's own may be (--fill) */
        const struct custom *custom; /* functions that were asked for; NULL none */
        bool gpu; /* those of graphics processors, too */
};

struct inject_result {
        int ledger;       /* the caller's to close */
        uint32_t threads; /* that were stopped */
        uint32_t patched; /* functions */
        struct str refused; /* "NAME: why" of those that could not be, in lines; the caller's */
        bool again;      /* the agent was there from before */
        bool preloaded;    /* inject_rejoin(): the agent is a library of the program's */
        bool follows_all;  /* ... and forked children are recorded, too */
        uint64_t pause_ns; /* for which all stood still */
};

/* Begin to record PID.  false: E, and everything is as before. */
bool inject_enter(pid_t pid, const struct inject_request *q, struct inject_result *out,
                  struct err *e);

/* The same of a process whose threads H holds; they stay held. */
bool inject_enter_held(struct hold *h, const struct inject_request *q, struct inject_result *out,
                       struct err *e);

/* Functions of libraries that PID, which is recorded, has loaded since.  OUT->patched is how many.
 * Those of graphics processors (Q->gpu) alone are looked for. */
bool inject_add(pid_t pid, const struct inject_request *q, struct inject_result *out,
                struct err *e);

/* Go on with what the agent of PID has recorded, however it came in, when its observer is gone.
 * SESSION is what a new recording of ours would have.  false: E, the reason alone; all is as
 * before. */
struct inject_orphan {
        const char *image, *session;
        uint64_t ledger, ledger_bytes; /* where in its memory ... */
        uint64_t words;                /* ... and struct wire_rejoin */
};

bool inject_rejoin(pid_t pid, const struct inject_orphan *q, struct inject_result *out,
                   struct err *e);

/* Functions are as they were, and the agent sleeps.  false: E; it was not there. */
bool inject_leave(pid_t pid, const char *image, struct inject_result *out, struct err *e);

#endif
