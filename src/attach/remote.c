/* SPDX-License-Identifier: MIT */
#include "attach/remote.h"

#include <errno.h>
#include <linux/ptrace.h>
#include <linux/rseq.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "attach/memory.h"
#include "attach/sandbox.h"
#include "base/clock.h"

/* A process in a frozen cgroup does not answer at all. */
#define REMOTE_PATIENCE_NS 5000000000ull

#define REMOTE_CALL_STOP (SIGTRAP | 0x80)

/*
 * A stop in a restartable sequence (rseq) ends that: the thread goes on at the place for this.  The
 * kernel sees to it, but would not find out when it meets the thread elsewhere first.
 */
static void leave_sequence(struct remote *r)
{
        const struct memory memory = { .tid = r->tid, .mem = -1, .pagemap = -1 };
        struct ptrace_rseq_configuration setup;
        struct rseq_cs sequence;
        uint64_t at = 0;

        if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, r->tid, sizeof setup, &setup) !=
                    (long)sizeof setup ||
            !setup.rseq_abi_pointer)
                return;
        memory_read(&memory, setup.rseq_abi_pointer + offsetof(struct rseq, rseq_cs), &at,
                    sizeof at);
        if (at && memory_read(&memory, at, &sequence, sizeof sequence) == sizeof sequence &&
            arch_pc(&r->home) - sequence.start_ip < sequence.post_commit_offset)
                arch_set_pc(&r->home, sequence.abort_ip);
}

/* R->tid stands still; R->instruction and R->home are set.  false: it is gone. */
static bool block_signals(struct remote *r)
{
        uint64_t all = ~0ull;

        leave_sequence(r);
        priority_raise(&r->priority, r->tid);
        return ptrace(PTRACE_GETSIGMASK, r->tid, sizeof r->mask, &r->mask) == 0 &&
               ptrace(PTRACE_SETSIGMASK, r->tid, sizeof all, &all) == 0;
}

/* What happened on the way.  false: the thread is not to go on. */
static bool note(struct remote *r, int status)
{
        unsigned long child = 0;

        switch (status >> 16) {
        case PTRACE_EVENT_CLONE:
                ptrace(PTRACE_GETEVENTMSG, r->tid, 0, &child);
                r->child = (pid_t)child;
                return true;
        case PTRACE_EVENT_STOP: return true;
        case 0: r->stop |= WSTOPSIG(status) == SIGSTOP; return WSTOPSIG(status) == SIGSTOP;
        default: return false;
        }
}

/* To the next entry or exit of a system call. */
static bool run_to_call(struct remote *r)
{
        int status;

        do {
                if (ptrace(PTRACE_SYSCALL, r->tid, 0, 0) != 0 ||
                    !hold_wait(r->tid, &status, REMOTE_PATIENCE_NS) || !WIFSTOPPED(status))
                        return false;
                if (WSTOPSIG(status) == REMOTE_CALL_STOP)
                        return true;
        } while (note(r, status));
        return false;
}

/* Also of the other word size. */
static bool read_registers(pid_t tid, struct arch_registers *to)
{
        return arch_read(tid, to) || (errno == ENOEXEC && arch_is_narrow(to));
}

long remote_call(struct remote *r, const struct arch_call *call)
{
        struct arch_registers registers = r->home;

        r->child = 0;
        arch_prepare(&registers, r->instruction, call);
        r->lost = r->lost || !arch_write(r->tid, &registers) || !run_to_call(r) ||
                  !run_to_call(r) || !read_registers(r->tid, &registers);
        return r->lost ? -ENOSYS : arch_result(&registers);
}

/*
 * By way of one more stop, of the same kind as the one it was found in: only there the kernel looks
 * whether an interrupted system call is to be made again.
 */
static void go_home(struct remote *r)
{
        int status = 0;

        ptrace(PTRACE_INTERRUPT, r->tid, 0, 0);
        do {
                if (!r->runs)
                        ptrace(PTRACE_CONT, r->tid, 0, 0);
                if (!hold_wait(r->tid, &status, REMOTE_PATIENCE_NS) || !WIFSTOPPED(status))
                        return;
                r->runs = false;
                if (!note(r, status)) /* a fault, which it must not meet again */
                        arch_write(r->tid, &r->home);
        } while (status >> 16 != PTRACE_EVENT_STOP);
        arch_write(r->tid, &r->home);
        ptrace(PTRACE_SETSIGMASK, r->tid, sizeof r->mask, &r->mask);
        if (r->stop)
                kill(r->tid, SIGSTOP);
}

/* ---- a thread, and an instruction ---- */

/* One that waits in a system call is best: its stop disturbs nothing. */
static struct hold_thread *thread_choose(struct hold *h)
{
        struct hold_thread *any = NULL;

        for (uint32_t i = 0; i < h->count; i++)
                if (h->threads[i].state == HOLD_STOPPED && !h->threads[i].foreign &&
                    (!any || arch_is_in_call(&h->threads[i].registers))) {
                        any = &h->threads[i];
                        if (arch_is_in_call(&any->registers))
                                break;
                }
        return any;
}

/* START is that of a page. */
static uint64_t instruction_in(pid_t tid, struct arch_instruction what, uint64_t start,
                               uint64_t end)
{
        const struct memory memory = { .tid = tid, .mem = -1, .pagemap = -1 };
        char bytes[1 << 14];
        size_t got;

        for (; start < end; start += got) {
                got = memory_read(&memory, start, bytes,
                                  end - start < sizeof bytes ? end - start : sizeof bytes);
                for (size_t i = 0; i + what.count <= got; i += what.align)
                        if (memcmp(bytes + i, what.bytes, what.count) == 0)
                                return start + i;
                if (!got)
                        break;
        }
        return 0;
}

/* That of the kernel's own page is first choice: it is everywhere. */
static uint64_t instruction_find(pid_t tid, struct arch_instruction what,
                                 const struct mappings *maps)
{
        uint64_t found = 0;

        for (int kernel = 1; kernel >= 0; kernel--)
                for (uint32_t i = 0; i < maps->count && !found; i++)
                        if (maps->at[i].kernel == kernel && maps->at[i].readable &&
                            maps->at[i].executable)
                                found = instruction_in(tid, what, maps->at[i].start,
                                                       maps->at[i].end);
        return found;
}

/* ---- what its thread is asked to stop at ---- */

bool remote_options(pid_t tid, long more)
{
        long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | more;

        return ptrace(PTRACE_SETOPTIONS, tid, 0, options | PTRACE_O_SUSPEND_SECCOMP) == 0 ||
               (sandbox_is_ours(tid) && ptrace(PTRACE_SETOPTIONS, tid, 0, options) == 0);
}

/* ---- functions ---- */

bool remote_jump(struct remote *r, uint64_t function, uint64_t stack)
{
        struct arch_registers registers = r->home;

        arch_jump(&registers, function, stack);
        r->lost = r->lost || !arch_write(r->tid, &registers) ||
                  ptrace(PTRACE_CONT, r->tid, 0, 0) != 0;
        r->runs = !r->lost;
        return r->runs;
}

bool remote_wait(struct remote *r, bool (*is_over)(void *context), void *context)
{
        uint64_t begin = clock_now_ns();
        uint32_t turn = 0;
        int status;

        while (!r->lost && !is_over(context)) {
                pid_t got = waitpid(r->tid, &status, __WALL | WNOHANG);

                if (got == 0) {
                        hold_nap(turn++);
                } else {
                        r->lost = got < 0 || !WIFSTOPPED(status) || !note(r, status) ||
                                  ptrace(PTRACE_CONT, r->tid, 0, 0) != 0;
                        r->runs = !r->lost;
                }
                r->lost = r->lost || clock_now_ns() - begin > REMOTE_PATIENCE_NS;
        }
        return !r->lost;
}

/* ---- beginning and end ---- */

const char *remote_begin(struct remote *r, struct hold *h, const struct mappings *maps)
{
        struct hold_thread *t = thread_choose(h);

        if (!t)
                return REMOTE_LOST;
        *r = (struct remote){ .tid = t->tid, .home = t->registers };
        if (!remote_options(t->tid, 0))
                return errno == ESRCH ? REMOTE_LOST
                                      : "it filters system calls (seccomp), and only root may "
                                        "suspend that";
        r->instruction = instruction_find(t->tid, arch_call_of(&t->registers), maps);
        if (!r->instruction)
                return "there is no system call instruction in its memory";
        return block_signals(r) ? NULL : REMOTE_LOST;
}

void remote_end(struct remote *r)
{
        go_home(r);
        priority_restore(&r->priority);
        ptrace(PTRACE_SETOPTIONS, r->tid, 0, PTRACE_O_TRACESYSGOOD);
}
