/* SPDX-License-Identifier: MIT */
/*
 * remote.c -- system calls made by a stopped thread of another process, on our behalf.
 *
 * Room:   outside; the tracer.
 * Keeps:  by stops at system calls: single steps and breakpoints would reset what the program does about SIGTRAP.
 */
#include "attach/remote.h"

#include <errno.h>
#include <linux/ptrace.h>
#include <linux/rseq.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "attach/hold.h"
#include "attach/memory.h"

/* A process in a frozen cgroup does not answer at all. */
#define REMOTE_PATIENCE_NS 5000000000ull

#define REMOTE_CALL_STOP (SIGTRAP | 0x80)

/*
 * A stop in a restartable sequence (rseq) ends that: the thread goes on at the place for this.  The kernel sees to it, but
 * would not find out when it meets the thread elsewhere first.
 */
static void remote_leave_sequence(struct remote *r)
{
        const struct memory memory = { .tid = r->tid, .mem = -1, .pagemap = -1 };
        struct ptrace_rseq_configuration setup;
        struct rseq_cs sequence;
        uint64_t at = 0;

        if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, r->tid, sizeof setup, &setup) != (long)sizeof setup || !setup.rseq_abi_pointer)
                return;
        memory_read(&memory, setup.rseq_abi_pointer + offsetof(struct rseq, rseq_cs), &at, sizeof at);
        if (at && memory_read(&memory, at, &sequence, sizeof sequence) == sizeof sequence &&
            *arch_pc(&r->home) - sequence.start_ip < sequence.post_commit_offset)
                *arch_pc(&r->home) = sequence.abort_ip;
}

bool remote_begin(struct remote *r)
{
        uint64_t all = ~0ull;

        remote_leave_sequence(r);
        hurry_begin(&r->hurry, r->tid);
        return ptrace(PTRACE_GETSIGMASK, r->tid, sizeof r->mask, &r->mask) == 0 &&
               ptrace(PTRACE_SETSIGMASK, r->tid, sizeof all, &all) == 0;
}

/* What happened on the way.  false: the thread is not to go on. */
static bool remote_note(struct remote *r, int status)
{
        unsigned long child = 0;

        switch (status >> 16) {
        case PTRACE_EVENT_CLONE:
                ptrace(PTRACE_GETEVENTMSG, r->tid, 0, &child);
                r->child = (pid_t)child;
                return true;
        case PTRACE_EVENT_STOP:
                return true;
        case 0:
                r->stop |= WSTOPSIG(status) == SIGSTOP;
                return WSTOPSIG(status) == SIGSTOP;
        default:
                return false;
        }
}

/* To the next entry or exit of a system call. */
static bool remote_run(struct remote *r)
{
        int status;

        do {
                if (ptrace(PTRACE_SYSCALL, r->tid, 0, 0) != 0 || !hold_wait(r->tid, &status, REMOTE_PATIENCE_NS) || !WIFSTOPPED(status))
                        return false;
                if (WSTOPSIG(status) == REMOTE_CALL_STOP)
                        return true;
        } while (remote_note(r, status));
        return false;
}

long remote_call(struct remote *r, const struct arch_call *call)
{
        struct arch_registers registers = r->home;

        r->child = 0;
        arch_prepare(&registers, r->instruction, call);
        r->lost = r->lost || !arch_write(r->tid, &registers) || !remote_run(r) || !remote_run(r) || !arch_read(r->tid, &registers);
        return r->lost ? -ENOSYS : arch_result(&registers);
}

/*
 * By way of one more stop, of the same kind as the one it was found in: only there the kernel looks whether an interrupted
 * system call is to be made again.
 */
static void remote_return(struct remote *r)
{
        int status = 0;

        ptrace(PTRACE_INTERRUPT, r->tid, 0, 0);
        do {
                ptrace(PTRACE_CONT, r->tid, 0, 0);
                if (!hold_wait(r->tid, &status, REMOTE_PATIENCE_NS) || !WIFSTOPPED(status))
                        return;
                remote_note(r, status);
        } while (status >> 16 != PTRACE_EVENT_STOP);
        arch_write(r->tid, &r->home);
        ptrace(PTRACE_SETSIGMASK, r->tid, sizeof r->mask, &r->mask);
        if (r->stop)
                kill(r->tid, SIGSTOP);
}

void remote_end(struct remote *r)
{
        remote_return(r);
        hurry_end(&r->hurry);
}
