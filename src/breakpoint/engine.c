/* SPDX-License-Identifier: MIT */
/*
 * engine.c -- the process that traces: what stops, and why.
 *
 * Keeps:  threads are followed from their first instruction on (PTRACE_O_TRACECLONE and the like),
 *         signals of the program go on as they came, and what job control stopped stays stopped.
 * Cost:   for each stop a wait, the registers, one of them written, and the way on.
 */
#include "breakpoint/parts.h"

#include <errno.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/first_tracer.h"
#include "attach/hold.h"
#include "attach/procfs.h"
#include "base/heap.h"
#include "base/io.h"
#include "base/fdpass.h"
#include "breakpoint/arch/arch.h"
#include "breakpoint/entries.h"
#include "wire/hello.h"

#define TICK_US 20000  /* between looks at who asks for something ... */
#define SHORT_US 1000  /* ... while somebody waits */
#define LEAVE_NS 2000000000ull

struct tracer tracer;
static volatile sig_atomic_t due;

/* ---- threads ---- */

static struct task *task_find(pid_t tid)
{
        struct task **recent = &tracer.recent[(uint32_t)tid % 1024], *t = *recent;

        if (t && t->tid == tid)
                return t;
        for (t = tracer.tasks; t && t->tid != tid; t = t->next)
                ;
        if (t)
                *recent = t;
        return t;
}

static struct task *task_new(pid_t tid, struct target *g)
{
        struct task *t = heap_zero(1, sizeof *t);

        t->tid = tid;
        t->target = g;
        g->users++;
        t->next = tracer.tasks;
        tracer.tasks = t;
        return t;
}

void task_end(struct task *t)
{
        struct task **at = &tracer.tasks;

        while (*at != t)
                at = &(*at)->next;
        *at = t->next;
        if (tracer.recent[(uint32_t)t->tid % 1024] == t)
                tracer.recent[(uint32_t)t->tid % 1024] = NULL;
        tracer.waiting -= t->leaving;
        account_end(t);
        target_release(t->target);
        free(t);
}

bool task_runs(struct task *t)
{
        t->ended = !t->stopped && t->tid == t->target->pid && procfs_state(t->tid, t->tid) == 'Z';
        return !t->stopped && !t->ended;
}

/* Let T go on, with SIGNAL. */
static void task_continue(struct task *t, int signal)
{
        t->stopped = false;
        ptrace(PTRACE_CONT, t->tid, 0, signal);
}

/* ---- the end of a program ---- */

/* T is at the door: the program waits for a search for leaks, as it does with an agent.  REASON:
 * enum ledger_scan; its stack from SP on is the program's. */
static void wait_for_search(struct task *t, uint32_t reason, uint64_t sp)
{
        struct ledger_head *h = t->target->book.head;

        if (t->leaving || t->vforked || h->observer == 0 ||
            h->served == LEDGER_SERVED_NEVER || h->scan_asked != h->scan_done)
                return;
        h->scan_reason = reason;
        h->scan_sp = sp;
        h->scan_context = 0;
        h->scan_holder = (uint32_t)t->tid;
        t->asked_scan = __atomic_add_fetch(&h->scan_asked, 1, __ATOMIC_ACQ_REL);
        t->leaving = true;
        tracer.waiting++;
        target_knock(t->target);
}

/* Whether SIGNAL, which T is about to get, ends the program. */
static bool is_fatal(const struct task *t, int signal)
{
        static const int harmless[] = { SIGCHLD, SIGCONT, SIGURG, SIGWINCH,
                                        SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU };
        pid_t pid = t->target->pid;

        for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
                if (signal == harmless[i])
                        return false;
        return !((procfs_status(pid, t->tid, "SigCgt", 16, ~0ull) |
                  procfs_status(pid, t->tid, "SigIgn", 16, ~0ull)) >> (signal - 1) & 1);
}

/* It ends by a signal: the search comes first. */
static void signalled(struct task *t, int signal)
{
        if (t->target->recorded && (tracer.wishes->flags & WIRE_F_LEAK_SCAN) &&
            is_fatal(t, signal) && arch_read(t->tid, &t->registers)) {
                t->ending = signal;
                wait_for_search(t, LEDGER_SCAN_SIGNAL, arch_stack(&t->registers) - ARCH_RED_ZONE);
        }
        if (!t->leaving)
                task_continue(t, signal);
}

/* ---- breakpoints ---- */

/* A signal that somebody sent is not the breakpoint that the thread happens to stand at, or
 * behind. */
static bool is_trap(const struct task *t, const struct point *p)
{
        siginfo_t info = { 0 };

        if (ARCH_TRAP_PAST && (!p->ready || p->move.length != ARCH_TRAP_PAST))
                return true;
        return ptrace(PTRACE_GETSIGINFO, t->tid, 0, &info) != 0 || info.si_code > 0;
}

static void serve(struct task *t, const struct point *p)
{
        switch (p->what) {
        case POINT_ENTRY:
                if (t->target->recorded)
                        call_entered(t, p->entry);
                break;
        case POINT_RETURN:
                if (t->call.active && p->at == t->call.back &&
                    arch_stack(&t->registers) == t->call.sp + ARCH_RETURN_BYTES) {
                        arch_set_pc(&t->registers, p->at);
                        call_returned(t);
                }
                break;
        case POINT_LOADER: codes_look(t->target); break;
        case POINT_EXIT:
                if (t->target->recorded)
                        wait_for_search(t,
                                        entries[p->entry].does == DOES_EXEC ? LEDGER_SCAN_EXEC
                                                                            : LEDGER_SCAN_EXIT,
                                        arch_stack(&t->registers));
                break;
        }
}

/* The breakpoint cannot stay: its instruction works nowhere else. */
static void give_up(struct task *t, struct point *p)
{
        uint64_t at = p->at;

        target_write(t->target, at, p->original, sizeof p->original);
        points_forget(t->target, at, at + 1);
        if (t->target->recorded)
                t->target->book.head->lost_events++;
        arch_go(t->tid, &t->registers, at);
}

/* False: the trap is the program's own. */
static bool hit(struct task *t)
{
        struct point *p;
        uint64_t at;

        if (!arch_read(t->tid, &t->registers))
                return true; /* killed meanwhile */
        t->target->reader = t->tid;
        at = arch_pc(&t->registers) - ARCH_TRAP_PAST;
        p = point_find(t->target, at);
        if (!p || !is_trap(t, p))
                return false;
        serve(t, p);
        p = point_find(t->target, at); /* the table may have grown */
        if (p && !point_pass(t, p))
                give_up(t, p);
        if (!t->leaving)
                task_continue(t, 0);
        return true;
}

/* ---- births ---- */

static bool shares_memory(pid_t a, pid_t b, int event)
{
        long same = syscall(SYS_kcmp, a, b, KCMP_VM, 0, 0);

        return same == 0 || (same < 0 && event != PTRACE_EVENT_FORK);
}

/* Children that stopped before their parent told of them. */
static struct {
        pid_t *at;
        uint32_t count;
} early;

static bool was_early(pid_t tid)
{
        for (uint32_t i = 0; i < early.count; i++)
                if (early.at[i] == tid) {
                        early.at[i] = early.at[--early.count];
                        return true;
                }
        return false;
}

/* A forked child that is not recorded has a copy of memory with breakpoints in it. */
static bool is_unrecorded(const struct task *t)
{
        return !t->target->book.head && !t->vforked && t->target->pid == t->tid;
}

/* The first stop of a child.  One that is not recorded may still become a program that is. */
static void first_stop(struct task *t)
{
        t->fresh = false;
        if (tracer.leave) {
                t->stopped = true;
                return;
        }
        if (is_unrecorded(t))
                points_remove(t->target);
        if (!is_unrecorded(t) || tracer.wishes->follow_exec) {
                task_continue(t, 0);
                return;
        }
        ptrace(PTRACE_DETACH, t->tid, 0, 0);
        task_end(t);
}

static void child_born(struct task *parent, int event)
{
        unsigned long message = 0;
        struct target *g = parent->target;
        struct task *t;
        pid_t tid;
        bool is_thread;

        if (ptrace(PTRACE_GETEVENTMSG, parent->tid, 0, &message) != 0)
                return;
        tid = (pid_t)message;
        is_thread = (pid_t)procfs_status(tid, tid, "Tgid", 10, (uint64_t)tid) != tid;
        if (is_thread || shares_memory(parent->tid, tid, event)) {
                t = task_new(tid, g);
                t->vforked = !is_thread;
        } else {
                if (g->recorded && tracer.wishes->follow_fork)
                        g->book.head->forks_followed++;
                t = task_new(tid, target_forked(g, tid));
        }
        t->fresh = true;
        if (was_early(tid))
                first_stop(t);
}

/* ---- another program ---- */

/* All threads but the one that called exec are gone, and it has the number of the first. */
static void end_others(struct task *t)
{
        struct task *next;

        for (struct task *other = tracer.tasks; other; other = next) {
                next = other->next;
                if (other != t && other->target == t->target && !other->vforked && !t->vforked)
                        task_end(other);
        }
}

static void execed(struct task *t)
{
        struct target *before = t->target;
        bool first = !before->book.head && !before->points;

        end_others(t);
        account_end(t);
        tracer.waiting -= t->leaving;
        t->leaving = false;
        t->vforked = false;
        t->call = (struct call){ .active = false };
        t->released = 0;
        t->target = target_new(t->tid);
        t->target->users = 1;
        target_release(before);
        if ((first || tracer.wishes->follow_exec || t->tid == tracer.main) &&
            target_begin(t->target)) {
                task_continue(t, 0);
                return;
        }
        points_remove(t->target);
        ptrace(PTRACE_DETACH, t->tid, 0, 0);
        task_end(t);
}

/* ---- stops ---- */

static bool is_birth(int status)
{
        int event = status >> 16;

        return event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK ||
               event == PTRACE_EVENT_CLONE;
}

static bool is_job_stop(int signal)
{
        return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

void engine_stopped(struct task *t, int status)
{
        int signal = WSTOPSIG(status), event = status >> 16;

        t->stopped = true;
        if (is_birth(status)) {
                child_born(t, event);
                task_continue(t, 0);
        } else if (event == PTRACE_EVENT_EXEC) {
                execed(t);
        } else if (event == PTRACE_EVENT_STOP && is_job_stop(signal)) {
                t->stopped = false;
                ptrace(PTRACE_LISTEN, t->tid, 0, 0);
        } else if (event == PTRACE_EVENT_STOP) {
                if (t->fresh) {
                        first_stop(t);
                        return;
                }
                if (t->asked)
                        hold_mend(t->target->pid, t->tid);
                t->asked = false;
                task_continue(t, 0);
        } else if (event) {
                task_continue(t, 0);
        } else if (signal != SIGTRAP || !hit(t)) {
                signalled(t, signal);
        }
}

static void changed(pid_t tid, int status)
{
        struct task *t = task_find(tid);

        if (!t && WIFSTOPPED(status)) {
                early.at = heap_grow(early.at, early.count + 1, sizeof *early.at);
                early.at[early.count++] = tid;
        } else if (t && !WIFSTOPPED(status)) {
                task_end(t);
        } else if (t) {
                engine_stopped(t, status);
        }
}

/* ---- orders ---- */

static void trace(pid_t pid)
{
        struct first_tracer_answer answer = { .good = 1 };

        if (ptrace(PTRACE_SEIZE, pid, 0, TRACE_OPTIONS) == 0) {
                task_new(pid, target_new(pid));
                tracer.main = tracer.main ? tracer.main : pid;
        } else {
                answer = (struct first_tracer_answer){ .error = errno };
        }
        if (send(tracer.control, &answer, sizeof answer, MSG_NOSIGNAL) < 0)
                tracer.leave = true;
}

/* False: nobody says anything now. */
static bool take_order(void)
{
        struct first_tracer_order order;
        int fd;
        ssize_t got = fdpass_receive(tracer.control, &order, sizeof order, &fd, MSG_DONTWAIT);

        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
                tracer.leave = true;
        if (got != (ssize_t)sizeof order)
                return false;
        if (order.what == FIRST_TRACER_TRACE)
                trace(order.pid);
        else if (order.what == FIRST_TRACER_HOLD && fd >= 0)
                still_begin(order.pid, fd);
        return true;
}

/* ---- the loop ---- */

static void on_alarm(int number)
{
        (void)number;
        due = 1;
}

static void set_alarm(void)
{
        static long now;
        long want = tracer.waiting || tracer.stills ? SHORT_US : TICK_US;
        struct itimerval t = { { 0, want }, { 0, want } };

        if (want != now)
                setitimer(ITIMER_REAL, &t, NULL);
        now = want;
}

/* The search is over, or nobody will make it: leave. */
static void look_at_waiting(void)
{
        for (struct task *t = tracer.tasks; t && tracer.waiting; t = t->next) {
                struct ledger_head *h = t->leaving ? t->target->book.head : NULL;

                if (!h || still_holds(t->target) ||
                    (int32_t)(__atomic_load_n(&h->scan_done, __ATOMIC_ACQUIRE) - t->asked_scan) < 0)
                        continue;
                h->scan_sp = 0;
                h->scan_holder = 0;
                t->leaving = false;
                tracer.waiting--;
                task_continue(t, t->ending);
                t->ending = 0;
        }
}

static void look_around(void)
{
        due = 0;
        while (!tracer.leave && take_order())
                ;
        if (getppid() != tracer.parent)
                tracer.leave = true;
        still_look();
        look_at_waiting();
        set_alarm();
}

/* Stop all that do not stand still.  A child that was born just now is one more. */
static bool stop_more(void)
{
        bool more = false;
        int status;

        for (struct task *t = tracer.tasks; t; t = t->next)
                if (task_runs(t))
                        ptrace(PTRACE_INTERRUPT, t->tid, 0, 0);
        for (struct task *t = tracer.tasks; t; t = t->next) {
                if (t->stopped || t->ended || !hold_wait(t->tid, &status, LEAVE_NS) ||
                    !WIFSTOPPED(status))
                        continue;
                t->stopped = true;
                t->held_status = status;
                if (!is_birth(status))
                        continue;
                child_born(t, status >> 16);
                more = true;
        }
        return more;
}

/* T was interrupted when it had run into a breakpoint and its SIGTRAP was not delivered yet: the
 * kernel tells of the interruption first.  Detached like this it would die of the signal.  It runs
 * none of its own code before it stops again, for the signal. */
static void take_pending_trap(struct task *t)
{
        uint64_t pending = procfs_status(t->target->pid, t->tid, "SigPnd", 16, 0);
        int status;

        if (t->held_status >> 16 != PTRACE_EVENT_STOP || !(pending >> (SIGTRAP - 1) & 1))
                return;
        if (ptrace(PTRACE_CONT, t->tid, 0, 0) == 0 && hold_wait(t->tid, &status, LEAVE_NS) &&
            WIFSTOPPED(status))
                t->held_status = status;
}

/* T stands still, and there are no breakpoints any more: it goes on without us. */
static void let_go(struct task *t)
{
        uint64_t at = 0;
        int signal;

        take_pending_trap(t);
        signal = t->held_status ? WSTOPSIG(t->held_status) : t->ending;
        if (arch_read(t->tid, &t->registers))
                at = arch_pc(&t->registers) - ARCH_TRAP_PAST;
        if (t->held_status >> 16) {
                signal = 0;
                hold_mend(t->target->pid, t->tid);
        } else if (signal == SIGTRAP && point_find(t->target, at)) {
                signal = 0;
                arch_go(t->tid, &t->registers, at);
        }
        ptrace(PTRACE_DETACH, t->tid, 0, signal);
}

/* All stand still, with nothing in their memory but their own; then they go on without us. */
static void leave(void)
{
        while (stop_more())
                ;
        for (struct target *g = tracer.targets; g; g = g->next)
                points_put_back(g);
        for (struct task *t = tracer.tasks; t; t = t->next)
                if (t->stopped)
                        let_go(t);
}

static void stand_apart(void)
{
        static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP,
                                       SIGTTIN, SIGTTOU, SIGUSR1, SIGUSR2 };
        struct sigaction alarm_action = { .sa_handler = on_alarm };
        sigset_t none;

        setsid();
        for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
                signal(ignored[i], SIG_IGN);
        signal(SIGCHLD, SIG_DFL);
        sigaction(SIGALRM, &alarm_action, NULL);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        prctl(PR_SET_PDEATHSIG, SIGALRM);
}

/* Nobody is traced: wait for a word. */
static void wait_for_order(void)
{
        struct pollfd p = { .fd = tracer.control, .events = POLLIN };

        poll(&p, 1, -1);
        due = 1;
}

static bool run(void *context, int fd)
{
        int status;

        tracer.wishes = context;
        tracer.control = fd;
        tracer.parent = getppid();
        stand_apart();
        set_alarm();
        while (!tracer.leave) {
                pid_t tid = tracer.tasks ? waitpid(-1, &status, __WALL) : 0;

                if (tid > 0)
                        changed(tid, status);
                else if (!tracer.tasks || errno == ECHILD)
                        wait_for_order();
                if (due)
                        look_around();
        }
        leave();
        return true;
}

/* ---- for others ---- */

bool breakpoint_start(struct worker *w, const struct breakpoint_wishes *wishes, struct err *e)
{
        struct worker_order order = { .work = run, .context = (void *)(uintptr_t)wishes,
                                      .socket = SOCK_SEQPACKET };

        return worker_start(w, &order) ||
               err_sys(e, ERR_EXIT_CANNOT_TRACE, "cannot start a process that sets breakpoints");
}

bool breakpoint_trace(struct worker *w, pid_t pid, struct err *e)
{
        struct first_tracer_order order = { FIRST_TRACER_TRACE, pid };
        struct first_tracer_answer answer = { .error = EPIPE };

        if (send(w->fd, &order, sizeof order, MSG_NOSIGNAL) == (ssize_t)sizeof order)
                while (recv(w->fd, &answer, sizeof answer, 0) < 0 && errno == EINTR)
                        ;
        if (answer.good)
                return true;
        errno = answer.error;
        return err_sys(e, ERR_EXIT_CANNOT_TRACE, "cannot trace process %d", (int)pid);
}

void breakpoint_end(struct worker *w)
{
        worker_close(w); /* which it takes for a word */
        worker_wait(w);
}
