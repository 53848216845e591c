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
#include "attach/memory.h"
#include "attach/procfs.h"
#include "attach/sandbox.h"
#include "base/room.h"

/* ---- system calls made by a stopped thread of another process, on our behalf ----
 *
 * The thread runs no instruction but one `syscall`, takes no signal meanwhile, and ends as it was.  By stops at system calls: single
 * steps and breakpoints would reset what the program does about SIGTRAP.
 */

struct remote {
        pid_t tid;
        uint64_t instruction;       /* a `syscall` in its memory */
        struct arch_registers home; /* what it had, and gets back */
        uint64_t mask;              /* signals that it blocked */
        struct priority priority;         /* all wait for it: it may be one of many that want a processor */
        pid_t child;                /* whom the last call made, by our numbers; 0: nobody */
        bool stop;                  /* SIGSTOP came meanwhile: it gets it afterwards */
        bool lost;                  /* it ended, or does not answer */
};

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
            arch_pc(&r->home) - sequence.start_ip < sequence.post_commit_offset)
                arch_set_pc(&r->home, sequence.abort_ip);
}

/* R->tid stands still; R->instruction and R->home are set.  false: it is gone. */
static bool remote_begin(struct remote *r)
{
        uint64_t all = ~0ull;

        remote_leave_sequence(r);
        priority_raise(&r->priority, r->tid);
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

/* Result, or negative errno.  -ENOSYS and R->lost: it could not be made. */
static long remote_call(struct remote *r, const struct arch_call *call)
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

/* Registers and signal mask as before. */
static void remote_end(struct remote *r)
{
        remote_return(r);
        priority_restore(&r->priority);
}

/* ---- a copy of a stopped process: same memory, never runs, no child of anybody who would notice ---- */

#define COPY_PATIENCE_NS 5000000000ull
#define COPY_LOST "it has ended, or does not answer (a frozen cgroup)"
#define COPY_UNSHARE 2u /* CLOSE_RANGE_UNSHARE */

static bool refuse(struct err *e, pid_t pid, const char *why)
{
        return err_set(e, ERR_EXIT_CANNOT_TRACE, "cannot copy process %d while it is stopped: %s", (int)pid, why);
}

/* ---- a thread, and an instruction ---- */

/* One that waits in a system call is best: its stop disturbs nothing. */
static struct hold_thread *thread_choose(struct hold *h)
{
        struct hold_thread *any = NULL;

        for (uint32_t i = 0; i < h->count; i++)
                if (h->threads[i].state == HOLD_STOPPED && !h->threads[i].foreign && (!any || arch_is_in_call(&h->threads[i].registers))) {
                        any = &h->threads[i];
                        if (arch_is_in_call(&any->registers))
                                break;
                }
        return any;
}

static uint64_t instruction_in(pid_t tid, uint64_t start, uint64_t end)
{
        const struct memory memory = { .tid = tid, .mem = -1, .pagemap = -1 };
        char bytes[1 << 14], *found;
        size_t got;

        for (; start < end; start += got) {
                got = memory_read(&memory, start, bytes, end - start < sizeof bytes ? end - start : sizeof bytes);
                found = memmem(bytes, got, ARCH_CALL, ARCH_CALL_BYTES);
                if (found)
                        return start + (uint64_t)(found - bytes);
                if (!got)
                        break;
        }
        return 0;
}

/* That of the kernel's own page is first choice: it is everywhere. */
static uint64_t instruction_find(pid_t tid, const struct mappings *maps)
{
        uint64_t found = 0;

        for (int kernel = 1; kernel >= 0; kernel--)
                for (uint32_t i = 0; i < maps->count && !found; i++)
                        if (maps->at[i].kernel == kernel && maps->at[i].readable && maps->at[i].executable)
                                found = instruction_in(tid, maps->at[i].start, maps->at[i].end);
        return found;
}

/* ---- what forbids it ---- */

static bool is_allowed(const struct hold *h, struct err *e)
{
        pid_t witness = hold_witness(h);

        if (hold_is_partial(h))
                return refuse(e, h->pid, "a thread could not be stopped in time (it is starting another program, or waiting for a device)");
        if (procfs_status(h->pid, witness, "NSpid", 10, 0) == 1)
                return refuse(e, h->pid, "it is the first process of its container, which would inherit the copy as a child");
        return true;
}

/* Filters of the program must not see our calls, and only root may suspend them. */
static bool set_options(pid_t tid, long more)
{
        long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | more;

        return ptrace(PTRACE_SETOPTIONS, tid, 0, options | PTRACE_O_SUSPEND_SECCOMP) == 0 ||
               (sandbox_is_ours(tid) && ptrace(PTRACE_SETOPTIONS, tid, 0, options) == 0);
}

/* NULL, or why the copy would become its child.  The word at the stack pointer is borrowed for the answer. */
static const char *why_parent(struct remote *r)
{
        struct arch_call ask = { SYS_prctl, { PR_GET_CHILD_SUBREAPER, arch_stack(&r->home) & ~7ull } };
        void *word = (void *)(uintptr_t)ask.arguments[1];
        long before, after;

        errno = 0;
        before = ptrace(PTRACE_PEEKDATA, r->tid, word, 0);
        if (errno != 0 || remote_call(r, &ask) != 0)
                return r->lost ? COPY_LOST : "it cannot be asked whether it adopts the children of its children (PR_GET_CHILD_SUBREAPER)";
        after = ptrace(PTRACE_PEEKDATA, r->tid, word, 0);
        ptrace(PTRACE_POKEDATA, r->tid, word, before);
        return (int)after == 0 ? NULL
                               : "it adopts the children of its children (PR_SET_CHILD_SUBREAPER), and would get the copy as a child";
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
                return COPY_LOST;
        if (result == -EAGAIN)
                return "no more processes may be started there (RLIMIT_NPROC, or the limit of its cgroup)";
        if (result == -ENOMEM)
                return "the kernel has no memory for it (vm.overcommit_memory, or the limit of its cgroup)";
        return result < 0 ? strerror((int)-result) : "the new process cannot be found";
}

/* A clone by R's thread; the new process stops before its first instruction.  Its number by our count, or 0 and TROUBLE. */
static pid_t clone_by(struct remote *r, uint64_t flags, const char **trouble, long *number)
{
        struct arch_call call = { SYS_clone, ARCH_CLONE(flags) };
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
        struct remote r = { .tid = helper, .instruction = parent->instruction, .home = parent->home };
        struct arch_call forget = { SYS_close_range, { 0, ~0u, COPY_UNSHARE } };
        struct sched_param high = { .sched_priority = 1 };
        bool without_files;
        int status;
        long number;

        if (!hold_wait(helper, &status, COPY_PATIENCE_NS) || !WIFSTOPPED(status))
                return *trouble = "its helper process has ended", 0;
        set_options(helper, PTRACE_O_EXITKILL);
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
        struct hold_thread *t = thread_choose(h);
        struct remote r = { 0 };
        const char *trouble = COPY_LOST;
        pid_t copy = 0;

        if (!is_allowed(h, e))
                return 0;
        if (!t)
                return refuse(e, h->pid, trouble), 0;
        r = (struct remote){ .tid = t->tid, .home = t->registers };
        if (!set_options(t->tid, 0))
                return refuse(e, h->pid, errno == ESRCH ? COPY_LOST : "it filters system calls (seccomp), and only root may suspend that"), 0;
        r.instruction = instruction_find(t->tid, maps);
        if (!r.instruction)
                return refuse(e, h->pid, "there is no system call instruction in its memory"), 0;
        if (remote_begin(&r)) {
                copy = copy_by(&r, &trouble);
                remote_end(&r);
        }
        ptrace(PTRACE_SETOPTIONS, t->tid, 0, PTRACE_O_TRACESYSGOOD);
        if (copy)
                room_offer(copy); /* it comes to take memory when the program goes on writing */
        else
                refuse(e, h->pid, trouble);
        return copy;
}

void copy_end(pid_t copy)
{
        end_and_reap(copy);
}
