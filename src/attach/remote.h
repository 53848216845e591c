/* SPDX-License-Identifier: MIT */
/*
 * remote.h -- system calls and functions that a stopped thread of another process runs for us.
 *
 * Room:   outside; the tracer.
 * Keeps:  the thread takes no signal meanwhile, and ends as it was.  For a system call it runs no
 *         instruction but one `syscall`, by stops at system calls: single steps and breakpoints
 *         would reset what the program does about SIGTRAP.
 */
#ifndef SEEP_ATTACH_REMOTE_H
#define SEEP_ATTACH_REMOTE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/arch/arch.h"
#include "attach/hold.h"
#include "attach/mappings.h"

#define REMOTE_PARTIAL                                                         \
        "a thread could not be stopped in time " \
        "(it is starting another program, or waiting for a device)"
#define REMOTE_LOST "it has ended, or does not answer (a frozen cgroup)"

struct remote {
        pid_t tid;
        uint64_t instruction;       /* a `syscall` in its memory */
        struct arch_registers home; /* what it had, and gets back */
        uint64_t mask;              /* signals that it blocked */
        struct priority priority;   /* all wait for it: it may be one of many that want one */
        pid_t child;                /* whom the last call made, by our numbers; 0: nobody */
        bool runs;                  /* a function: it does not stand still */
        bool stop;                  /* SIGSTOP came meanwhile: it gets it afterwards */
        bool lost;                  /* it ended, or does not answer */
};

/* Choose a thread of H, which stands still.  NULL, or why not: then nothing is to be ended. */
const char *remote_begin(struct remote *r, struct hold *h, const struct mappings *maps);

/* Registers and signal mask as before. */
void remote_end(struct remote *r);

/* Result, or negative errno.  -ENOSYS and R->lost: it could not be made. */
long remote_call(struct remote *r, const struct arch_call *call);

/* Let it run FUNCTION, which does not return, on STACK; and wait until that IS_OVER.  false: the
 * thread is lost. */
bool remote_jump(struct remote *r, uint64_t function, uint64_t stack);
bool remote_wait(struct remote *r, bool (*is_over)(void *context), void *context);

/* What TID is asked to stop at (PTRACE_O_*), besides system calls and new processes.  Filters of
 * the program must not see our calls, and only root may suspend them: false. */
bool remote_options(pid_t tid, long more);

#endif
