/* SPDX-License-Identifier: MIT */
/*
 * remote.h -- system calls made by a stopped thread of another process, on our behalf.
 *
 * Room:   outside; the tracer.
 * Keeps:  the thread runs no instruction but one `syscall`, takes no signal meanwhile, and ends as it was.
 */
#ifndef SEEP_ATTACH_REMOTE_H
#define SEEP_ATTACH_REMOTE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/arch/arch.h"
#include "attach/hurry.h"

struct remote {
        pid_t tid;
        uint64_t instruction;       /* a `syscall` in its memory */
        struct arch_registers home; /* what it had, and gets back */
        uint64_t mask;              /* signals that it blocked */
        struct hurry hurry;         /* all wait for it: it may be one of many that want a processor */
        pid_t child;                /* whom the last call made, by our numbers; 0: nobody */
        bool stop;                  /* SIGSTOP came meanwhile: it gets it afterwards */
        bool lost;                  /* it ended, or does not answer */
};

/* R->tid stands still; R->instruction and R->home are set.  false: it is gone. */
bool remote_begin(struct remote *r);

/* Result, or negative errno.  -ENOSYS and R->lost: it could not be made. */
long remote_call(struct remote *r, const struct arch_call *call);

/* Registers and signal mask as before. */
void remote_end(struct remote *r);

#endif
