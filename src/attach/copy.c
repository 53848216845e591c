/* SPDX-License-Identifier: MIT */
#include "attach/copy.h"

#include <errno.h>
#include <linux/ptrace.h>
#include <linux/rseq.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "attach/arch/arch.h"
#include "attach/hold.h"
#include "attach/procfs.h"
#include "attach/remote.h"
#include "base/headroom.h"

/* ---- a copy of a stopped process: same memory, never runs, no child of anybody who would notice
 * ---- */

#define COPY_PATIENCE_NS 5000000000ull
#define COPY_UNSHARE 2u /* CLOSE_RANGE_UNSHARE */

static bool refuse(struct err *e, pid_t pid, const char *why)
{
        return err_set(e, ERR_EXIT_CANNOT_TRACE, "cannot copy process %d while it is stopped: %s",
                       (int)pid, why);
}

/* ---- what forbids it ---- */

static bool is_allowed(const struct hold *h, struct err *e)
{
        pid_t witness = hold_witness(h);

        if (hold_is_partial(h))
                return refuse(e, h->pid, REMOTE_PARTIAL);
        if (procfs_status(h->pid, witness, "NSpid", 10, 0) == 1)
                return refuse(e, h->pid,
                              "it is the first process of its container, which would inherit the "
                              "copy as a child");
        return true;
}

/* NULL, or why the copy would become its child.  The word at the stack pointer is
 * borrowed for the answer. */
static const char *why_parent(struct remote *r)
{
        struct arch_call ask = { SYS_prctl,
                                 { PR_GET_CHILD_SUBREAPER, arch_stack(&r->home) & ~7ull } };
        void *word = (void *)(uintptr_t)ask.arguments[1];
        long before, after;

        errno = 0;
        before = ptrace(PTRACE_PEEKDATA, r->tid, word, 0);
        if (errno != 0 || remote_call(r, &ask) != 0)
                return r->lost ? REMOTE_LOST
                               : "it cannot be asked whether it adopts the children of its "
                                 "children (PR_GET_CHILD_SUBREAPER)";
        after = ptrace(PTRACE_PEEKDATA, r->tid, word, 0);
        ptrace(PTRACE_POKEDATA, r->tid, word, before);
        return (int)after == 0 ? NULL
                               : "it adopts the children of its children (PR_SET_CHILD_SUBREAPER), "
                                 "and would get the copy as a child";
}

/* ---- the two clones ---- */

static void end_and_reap(pid_t pid)
{
        int status;

        kill(pid, SIGKILL);
        while (waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status))
                ;
}

static const char *clone_trouble(const struct remote *r, long result)
{
        if (r->lost)
                return REMOTE_LOST;
        if (result == -EAGAIN)
                return "no more processes may be started there (RLIMIT_NPROC, or the limit of its "
                       "cgroup)";
        if (result == -ENOMEM)
                return "the kernel has no memory for it (vm.overcommit_memory, or the limit of its "
                       "cgroup)";
        return result < 0 ? strerror((int)-result) : "the new process cannot be found";
}

/* A clone by R's thread; the new process stops before its first instruction.  Its number by our
 * count, or 0 and TROUBLE. */
static pid_t clone_by(struct remote *r, uint64_t flags, const char **trouble, long *number)
{
        struct arch_call call = { SYS_clone, ARCH_CLONE_WORDS(flags) };
        long result = remote_call(r, &call);

        for (int i = 0; i < 10 && result == -ARCH_ERESTARTNOINTR; i++)
                result = remote_call(r, &call);
        *number = result;
        if (result > 0 && r->child)
                return r->child;
        *trouble = clone_trouble(r, result);
        return 0;
}

/* The copy holds no file of the program open: a pipe that the program closes is closed. */
static pid_t copy_by_helper(pid_t helper, const struct remote *parent, const char **trouble)
{
        struct remote r = { .tid = helper, .instruction = parent->instruction,
                            .home = parent->home };
        struct arch_call forget = { SYS_close_range, { 0, ~0u, COPY_UNSHARE } };
        struct sched_param high = { .sched_priority = 1 };
        bool without_files;
        int status;
        long number;

        if (!hold_wait(helper, &status, COPY_PATIENCE_NS) || !WIFSTOPPED(status))
                return *trouble = "its helper process has ended", 0;
        remote_options(helper, PTRACE_O_EXITKILL);
        sched_setscheduler(helper, SCHED_FIFO | SCHED_RESET_ON_FORK, &high);
        without_files = remote_call(&r, &forget) == 0;
        return clone_by(&r, without_files ? 0 : CLONE_FILES, trouble, &number);
}

static pid_t copy_by(struct remote *r, const char **trouble)
{
        struct arch_call reap = { SYS_wait4, { 0, 0, __WALL | WNOHANG, 0 } };
        long number;
        pid_t helper, copy;

        *trouble = why_parent(r);
        if (*trouble)
                return 0;
        helper = clone_by(r, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND, trouble, &number);
        if (!helper)
                return 0;
        copy = copy_by_helper(helper, r, trouble);
        end_and_reap(helper);
        reap.arguments[0] = (uint64_t)number;
        remote_call(r, &reap);
        return copy;
}

pid_t copy_make(struct hold *h, const struct mappings *maps, struct err *e)
{
        struct remote r = { 0 };
        const char *trouble;
        pid_t copy;

        if (!is_allowed(h, e))
                return 0;
        trouble = remote_begin(&r, h, maps);
        if (trouble)
                return refuse(e, h->pid, trouble), 0;
        copy = copy_by(&r, &trouble);
        remote_end(&r);
        if (copy)
                headroom_offer(copy); /* it comes to take memory when the program goes on writing */
        else
                refuse(e, h->pid, trouble);
        return copy;
}

void copy_end(pid_t copy)
{
        end_and_reap(copy);
}
