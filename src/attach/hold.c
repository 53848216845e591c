/* SPDX-License-Identifier: MIT */
/*
 * hold.c -- all threads of a process, stopped and let go again without their noticing.
 *
 * Room:   outside; the tracer.
 * Keeps:  PTRACE_SEIZE and PTRACE_INTERRUPT send no signal, and a process that job
 *         control stopped stays so.
 */
#include "attach/hold.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/procfs.h"
#include "attach/refusal.h"
#include "base/clock.h"
#include "base/heap.h"
#include "base/io.h"

/* ---- all threads of a process, stopped and let go again without their noticing ---- */

/* ---- a thread that goes before all others for a moment ---- */

/* We go before those whom we help: one of them that spins in the kernel would keep us from ever
 * letting it go. */
void priority_raise(struct priority *h, pid_t tid)
{
        struct sched_param first = { .sched_priority = tid == gettid() ? 2 : 1 };
        int policy = sched_getscheduler(tid), nice = getpriority(PRIO_PROCESS, (id_t)tid);

        *h = (struct priority){ 0 };
        if (policy < 0 || (policy & ~SCHED_RESET_ON_FORK) != SCHED_OTHER)
                return;
        if (sched_setscheduler(tid, SCHED_FIFO, &first) == 0 ||
            setpriority(PRIO_PROCESS, (id_t)tid, -20) == 0)
                *h = (struct priority){ tid, policy, nice };
}

void priority_restore(struct priority *h)
{
        if (!h->tid)
                return;
        sched_setscheduler(h->tid, h->policy, &(struct sched_param){ 0 });
        setpriority(PRIO_PROCESS, (id_t)h->tid, h->nice);
        h->tid = 0;
}

/* ---- all threads of a process, stopped and let go again without their noticing ---- */

#define HOLD_NAP_NS 20000
#define HOLD_FIRST_NAP_NS 2000
#define HOLD_HURRY_ROUND 1
#define HOLD_SEIZE_TIMES 3
#define HOLD_VFORK_NS 20000000ull /* longer than programs take to start others */

void hold_nap(uint32_t turn)
{
        long nap = turn < HOLD_NAP_WHOLE ? HOLD_FIRST_NAP_NS << turn : HOLD_NAP_NS;

        nanosleep(&(struct timespec){ 0, nap }, NULL);
}

bool hold_wait(pid_t tid, int *status, uint64_t patience_ns)
{
        uint64_t begin = clock_now_ns();
        uint32_t turn = 0;
        pid_t got;

        while ((got = waitpid(tid, status, __WALL | WNOHANG)) == 0 &&
               clock_now_ns() - begin < patience_ns)
                hold_nap(turn++);
        return got == tid;
}

/* ---- stopping ---- */

static bool is_dead(pid_t pid, pid_t tid)
{
        char state = procfs_state(pid, tid);

        return state == 'Z' || state == 'X';
}

/* The list has the order of the last time: what comes next is mostly at *NEXT. */
static bool is_known(const struct hold *h, pid_t tid, uint32_t *next)
{
        for (uint32_t i = 0; i < h->count; i++, ++*next) {
                const struct hold_thread *t = &h->threads[*next %= h->count];

                if (t->tid == tid && t->state != HOLD_ENDED)
                        return ++*next, true;
        }
        return false;
}

/* Whoever calls exec gets the number of the first thread, and stays traced. */
static bool is_ours(pid_t pid, pid_t tid)
{
        return procfs_status(pid, tid, "TracerPid", 10, 0) == (uint64_t)gettid();
}

/* Dying threads answer EPERM; so does a first thread that had ended, and is another one when we
 * look. */
static bool thread_seize(struct hold *h, pid_t tid, struct err *e)
{
        int error;

        for (int i = 0;
             i < HOLD_SEIZE_TIMES && ptrace(PTRACE_SEIZE, tid, 0, PTRACE_O_TRACESYSGOOD) != 0;
             i++) {
                error = errno;
                if (error == ESRCH || is_dead(h->pid, tid))
                        return true;
                if (is_ours(h->pid, tid))
                        break;
                if (i == HOLD_SEIZE_TIMES - 1)
                        return refusal_explain(h->pid, tid, error, e);
        }
        ptrace(PTRACE_INTERRUPT, tid, 0, 0);
        h->threads = heap_grow(h->threads, h->count + 1, sizeof *h->threads);
        h->threads[h->count++] = (struct hold_thread){ .tid = tid, .state = HOLD_ASKED };
        return true;
}

/*
 * A thread that calls exec waits until all others are gone, those that we trace until we have heard
 * of it; and we wait for it when we ask for a thread meanwhile.  Any thread of ours may hear.
 */
void hold_disentangle(pid_t pid)
{
        char path[64];
        struct dirent *entry;
        DIR *list;

        snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
        list = opendir(path);
        while (list && (entry = readdir(list))) {
                pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

                if (tid > 0 && tid != pid && is_dead(pid, tid))
                        waitpid(tid, NULL, __WALL | WNOHANG);
        }
        if (list)
                closedir(list);
}

/*
 * Those that wait in a call that any signal ends come first, and go last: a signal that nobody
 * wants (SIGCHLD) is none, unless the thread that it is for is traced; then it wakes any thread of
 * the process, and one that is not traced, or not any more, would see its call fail.
 */
static bool threads_seize(struct hold *h, struct err *e)
{
        char path[64];
        struct dirent *entry;
        DIR *list;
        uint32_t next = 0;
        bool good = true, first = h->count == 0;

        for (uint32_t i = 0; first && good && i < h->limits.count; i++)
                good = thread_seize(h, h->limits.waits[i].tid, e);
        snprintf(path, sizeof path, "/proc/%d/task", (int)h->pid);
        list = opendir(path);
        while (list && good && (entry = readdir(list))) {
                pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

                if (tid > 0 && !is_known(h, tid, &next))
                        good = thread_seize(h, tid, e);
        }
        if (list)
                closedir(list);
        return good;
}

/* A signal that was on its way is delivered at once; the handler, if any, has not yet run
 * its first instruction then. */
static void thread_look(struct hold_thread *t)
{
        int status;
        pid_t got = waitpid(t->tid, &status, __WALL | WNOHANG);

        if (got == 0)
                return;
        priority_restore(&t->priority);
        if (got < 0 || !WIFSTOPPED(status)) {
                t->state = HOLD_ENDED;
        } else if (status >> 16 == PTRACE_EVENT_STOP) {
                t->state = HOLD_STOPPED;
        } else {
                ptrace(PTRACE_INTERRUPT, t->tid, 0, 0);
                ptrace(PTRACE_CONT, t->tid, 0, WSTOPSIG(status));
        }
}

static uint32_t threads_look(struct hold *h)
{
        uint32_t asked = 0;

        for (uint32_t i = 0; i < h->count; i++) {
                struct hold_thread *t = &h->threads[i];

                if (t->state == HOLD_ASKED)
                        thread_look(t);
                asked += t->state == HOLD_ASKED;
        }
        return asked;
}

/* Only the first thread of a process stays when it has ended. */
static void notice_dead_leader(struct hold *h)
{
        for (uint32_t i = 0; i < h->count; i++)
                if (h->threads[i].state == HOLD_ASKED && h->threads[i].tid == h->pid &&
                    is_dead(h->pid, h->pid))
                        h->threads[i].state = HOLD_DEAD;
}

static bool makes_process(long call)
{
#ifdef SYS_vfork
        if (call == SYS_vfork)
                return true;
#endif
        return call == SYS_clone || call == SYS_clone3;
}

/* Such a thread waits where signals do not reach it, for as long as its child wants. */
static bool waits_for_child(pid_t pid, pid_t tid)
{
        struct str text = { 0 };
        bool found = procfs_state(pid, tid) == 'D' && procfs_text(pid, tid, "syscall", &text) &&
                     makes_process(strtol(str_get(&text), NULL, 10));

        str_free(&text);
        return found;
}

static void notice_vfork(struct hold *h)
{
        for (uint32_t i = 0; i < h->count && !h->vforks; i++)
                h->vforks = h->threads[i].state == HOLD_ASKED &&
                            waits_for_child(h->pid, h->threads[i].tid);
}

/* Threads that want a processor, where there are more of them than processors. */
static void priority_asked(struct hold *h)
{
        for (uint32_t i = 0; i < h->count; i++)
                if (h->threads[i].state == HOLD_ASKED)
                        priority_raise(&h->threads[i].priority, h->threads[i].tid);
}

static void calm_asked(struct hold *h)
{
        for (uint32_t i = 0; i < h->count; i++)
                priority_restore(&h->threads[i].priority);
}

/* Threads that will stop as soon as they get a processor; one that sleeps (D) is not waiting for
 * that, and its call is none that ends early. */
static bool has_late(const struct hold *h)
{
        for (uint32_t i = 0; i < h->count; i++)
                if (h->threads[i].state == HOLD_ASKED &&
                    procfs_state(h->pid, h->threads[i].tid) != 'D')
                        return true;
        return false;
}

static bool is_in_time(const struct hold *h)
{
        uint64_t took = clock_now_ns() - h->since_ns;

        return (!h->vforks && took < h->patience_ns) || (took < h->late_ns && has_late(h));
}

static void threads_wait(struct hold *h)
{
        for (uint32_t round = 1; threads_look(h) && is_in_time(h); round++) {
                hold_nap(round);
                if (round == HOLD_HURRY_ROUND)
                        priority_asked(h);
                if (round % 64 == 0) {
                        notice_dead_leader(h);
                        if (clock_now_ns() - h->since_ns > HOLD_VFORK_NS)
                                notice_vfork(h);
                }
        }
        calm_asked(h);
}

/* A thread that calls exec ends the others even while they are stopped, and takes the place of the
 * first. */
static bool thread_confirm(struct hold *h, struct hold_thread *t)
{
        if (t->state == HOLD_STOPPED)
                thread_look(t);
        else if (t->state == HOLD_DEAD && !is_dead(h->pid, t->tid))
                t->state = HOLD_ASKED;
        else
                return true;
        if (t->state != HOLD_STOPPED)
                return false;
        if (arch_read(t->tid, &t->registers)) {
                limits_stopped(&h->limits, h->pid, t->tid, &t->registers);
                return true;
        }
        t->foreign = errno == ENOEXEC;
        if (!t->foreign)
                t->state = HOLD_ASKED;
        return t->foreign;
}

/* Take the registers.  false: not all that were stopped still are. */
static bool threads_confirm(struct hold *h)
{
        bool same = true;

        for (uint32_t i = 0; i < h->count; i++)
                same &= thread_confirm(h, &h->threads[i]);
        return same;
}

/* Whether all threads that stand still run code of the other word size: then the registers of all
 * are of the same kind. */
static bool notice_narrow(struct hold *h)
{
        uint32_t narrow = 0, wide = 0;

        for (uint32_t i = 0; i < h->count; i++)
                if (h->threads[i].state == HOLD_STOPPED)
                        ++*(arch_is_narrow(&h->threads[i].registers) ? &narrow : &wide);
        if (!narrow || wide)
                return false;
        for (uint32_t i = 0; i < h->count; i++)
                h->threads[i].foreign = false;
        return true;
}

static bool is_whole(const struct hold *h, struct err *e)
{
        for (uint32_t i = 0; i < h->count; i++)
                if (h->threads[i].foreign)
                        return err_set(e, ERR_EXIT_CANNOT_TRACE,
                                       "cannot read the registers of thread %d in process %d: it "
                                       "runs 32-bit code, which is not supported",
                                       (int)h->threads[i].tid, (int)h->pid);
        return hold_witness(h) || refusal_explain(h->pid, h->pid, ESRCH, e);
}

/* Before the first is asked: it waits for the last. */
static void threads_look_ahead(struct hold *h)
{
        char path[64];
        struct dirent *entry;
        DIR *list;

        snprintf(path, sizeof path, "/proc/%d/task", (int)h->pid);
        list = opendir(path);
        while (list && (entry = readdir(list))) {
                pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

                if (tid > 0)
                        limits_look(&h->limits, h->pid, tid);
        }
        if (list)
                closedir(list);
        limits_settle(&h->limits, h->pid);
}

/* Until all that can stop have, and no other has come. */
static bool threads_settle(struct hold *h, bool any, struct err *e)
{
        bool good;
        uint32_t known;

        do {
                known = h->count;
                good = threads_seize(h, e);
                if (good)
                        threads_wait(h);
        } while (good &&
                 ((h->count != known && is_in_time(h)) || (!threads_confirm(h) && is_in_time(h))));
        h->narrow = any && notice_narrow(h);
        if (good && is_whole(h, e))
                return true;
        hold_release(h);
        return false;
}

/* H has who is to be held, and how long that may take. */
static bool hold_threads(struct hold *h, bool any, struct err *e)
{
        threads_look_ahead(h);
        h->since_ns = clock_now_ns();
        return threads_settle(h, any, e);
}

bool hold_all(struct hold *h, pid_t pid, struct err *e)
{
        *h = (struct hold){ .pid = pid, .patience_ns = HOLD_PATIENCE_NS,
                            .late_ns = HOLD_LATE_NS };
        return hold_threads(h, false, e);
}

bool hold_any(struct hold *h, pid_t pid, struct err *e)
{
        *h = (struct hold){ .pid = pid, .patience_ns = HOLD_PATIENCE_NS,
                            .late_ns = HOLD_LATE_NS };
        return hold_threads(h, true, e);
}

bool hold_any_further(struct hold *h, struct err *e)
{
        if (clock_now_ns() - h->since_ns < h->late_ns)
                return threads_settle(h, true, e);
        hold_release(h);
        return false;
}

bool hold_any_within(struct hold *h, pid_t pid, uint64_t patience_ns, struct err *e)
{
        *h = (struct hold){ .pid = pid, .patience_ns = patience_ns, .late_ns = HOLD_LATE_NS };
        return hold_threads(h, true, e);
}

bool hold_one(struct hold *h, pid_t pid, pid_t tid, struct err *e)
{
        bool good;

        *h = (struct hold){ .pid = pid, .patience_ns = HOLD_PATIENCE_NS };
        limits_look(&h->limits, pid, tid);
        limits_settle(&h->limits, pid);
        h->since_ns = clock_now_ns();
        good = thread_seize(h, tid, e);
        do {
                if (good)
                        threads_wait(h);
        } while (good && !threads_confirm(h) && is_in_time(h));
        h->narrow = notice_narrow(h);
        if (good && is_whole(h, e))
                return true;
        hold_release(h);
        return false;
}

bool hold_is_partial(const struct hold *h)
{
        for (uint32_t i = 0; i < h->count; i++)
                if (h->threads[i].state == HOLD_ASKED || h->threads[i].state == HOLD_DEAD)
                        return true;
        return false;
}

pid_t hold_witness(const struct hold *h)
{
        pid_t asked = 0;

        for (uint32_t i = 0; i < h->count; i++)
                if (h->threads[i].state == HOLD_STOPPED)
                        return h->threads[i].tid;
                else if (h->threads[i].state == HOLD_ASKED)
                        asked = h->threads[i].tid;
        return asked;
}

/* ---- letting go ---- */

static uint64_t bit(int number)
{
        return 1ull << (number - 1);
}

/* Whether a signal waits that will run a handler or end the process: then EINTR is what
 * the program wants to see. */
static bool is_signalled(pid_t pid, pid_t tid)
{
        uint64_t pending = procfs_status(pid, tid, "SigPnd", 16, 0) |
                           procfs_status(pid, tid, "ShdPnd", 16, 0);
        /* These do nothing unless asked for; without a tracer the kernel would not have queued
         * them. */
        uint64_t quiet = bit(SIGCHLD) | bit(SIGURG) | bit(SIGWINCH) | bit(SIGCONT);

        if (!pending)
                return false;
        quiet &= ~procfs_status(pid, tid, "SigCgt", 16, 0);
        return (pending & ~procfs_status(pid, tid, "SigBlk", 16, 0) &
                ~procfs_status(pid, tid, "SigIgn", 16, 0) & ~quiet) != 0;
}

/* Two bytes beside each other: does it wait, was it interrupted.  Whether it does, and was told
 * so. */
static bool tell_waiting(const struct hold *h, const struct hold_thread *t)
{
        uint64_t at = arch_thread_pointer_in(&t->registers) + (uint64_t)h->wait_offset, word;
        unsigned shift = 8 * (unsigned)(at % sizeof word);

        if (!h->wait_offset || shift > 8 * (sizeof word - 2))
                return false;
        errno = 0;
        word = (uint64_t)ptrace(PTRACE_PEEKDATA, t->tid, (void *)(uintptr_t)(at - at % sizeof word),
                                NULL);
        if (errno || (word >> shift & 0xff) != 1)
                return false;
        word |= 1ull << (shift + 8);
        return ptrace(PTRACE_POKEDATA, t->tid, (void *)(uintptr_t)(at - at % sizeof word),
                      (void *)(uintptr_t)word) == 0;
}

/*
 * Some calls give EINTR after any stop (epoll_wait, semop, sigtimedwait, recv with a timeout,
 * io_getevents, read of inotify); the kernel makes the others again itself.  EINTR says that
 * nothing was done, save by close, which has closed.
 */
static bool is_cut_short(const struct arch_registers *r)
{
        long call = arch_interrupted(r);

        return call >= 0 && call != SYS_close;
}

void hold_mend(pid_t pid, pid_t tid)
{
        struct arch_registers r;

        if (arch_read(tid, &r) && is_cut_short(&r) &&
            (ARCH_KERNEL_DECIDES || !is_signalled(pid, tid))) {
                limits_again(NULL, pid, tid, &r);
                arch_write(tid, &r);
        }
}

/* Whoever was told makes its call again itself, also when a signal comes from now on: it is told
 * only where we do not know as well how much of its limit is left. */
static bool is_to_go_on(const struct hold *h, const struct hold_thread *t)
{
        if (ARCH_KERNEL_DECIDES && limits_know(&h->limits, t->tid))
                return true;
        return is_signalled(h->pid, t->tid) ? ARCH_KERNEL_DECIDES : !tell_waiting(h, t);
}

static void thread_release(const struct hold *h, struct hold_thread *t)
{
        if ((!t->foreign || arch_is_narrow(&t->registers)) && is_cut_short(&t->registers) &&
            is_to_go_on(h, t)) {
                limits_again(&h->limits, h->pid, t->tid, &t->registers);
                arch_write(t->tid, &t->registers);
        }
        ptrace(PTRACE_DETACH, t->tid, 0, 0);
}

static void release_stopped(struct hold *h)
{
        for (uint32_t i = h->count; i-- > 0;)
                if (h->threads[i].state == HOLD_STOPPED) {
                        thread_release(h, &h->threads[i]);
                        h->threads[i].state = HOLD_ENDED;
                }
}

void hold_release_late(struct hold *h)
{
        uint64_t begin = clock_now_ns();

        release_stopped(h);
        priority_asked(h);
        while (has_late(h) && clock_now_ns() - begin < HOLD_LATE_NS) {
                hold_nap(HOLD_NAP_WHOLE);
                threads_look(h);
                threads_confirm(h);
                release_stopped(h);
        }
        calm_asked(h);
        hold_release(h);
}

void hold_release(struct hold *h)
{
        for (uint32_t i = h->count; i-- > 0;) /* see threads_seize() */
                if (h->threads[i].state == HOLD_STOPPED)
                        thread_release(h, &h->threads[i]);
        limits_free(&h->limits);
        free(h->threads);
        h->threads = NULL;
        h->count = 0;
}
