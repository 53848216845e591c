/* SPDX-License-Identifier: MIT */
/*
 * still.c -- a process held still on request (attach/first_tracer.h).
 *
 * Keeps:  what threads stopped for meanwhile is served afterwards; nothing is lost.
 */
#include "breakpoint/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/arch/arch.h"
#include "attach/first_tracer.h"
#include "attach/hold.h"
#include "attach/procfs.h"
#include "base/heap.h"
#include "base/io.h"

struct still {
        struct target *target;
        int fd;
        struct still *next;
};

bool still_holds(const struct target *t)
{
        for (const struct still *k = tracer.stills; k; k = k->next)
                if (k->target == t)
                        return true;
        return false;
}

/* What is seen is of one moment only if all stand still: a thread that only wants a processor, on a
 * machine that is very busy, is waited for. */
static bool wait_for_stop(const struct task *t, int *status)
{
        return hold_wait(t->tid, status, HOLD_PATIENCE_NS) ||
               (procfs_state(t->target->pid, t->tid) != 'D' &&
                hold_wait(t->tid, status, HOLD_LATE_NS - HOLD_PATIENCE_NS));
}

static void stop_all(struct target *g)
{
        struct task *next;
        int status;

        for (struct task *t = tracer.tasks; t; t = t->next)
                if (t->target == g && task_runs(t)) {
                        t->asked = true;
                        ptrace(PTRACE_INTERRUPT, t->tid, 0, 0);
                }
        for (struct task *t = tracer.tasks; t; t = next) {
                next = t->next;
                if (t->target != g || t->stopped || t->ended ||
                    !wait_for_stop(t, &status))
                        continue;
                if (WIFSTOPPED(status)) {
                        t->stopped = true;
                        t->held_status = status;
                } else {
                        task_end(t);
                }
        }
}

static uint32_t count_threads(const struct target *g)
{
        uint32_t count = 0;

        for (const struct task *t = tracer.tasks; t; t = t->next)
                count += t->target == g && !t->vforked && !t->ended;
        return count;
}

/* The first thread first. */
static bool tell_thread(const struct task *t, int fd)
{
        struct freeze_thread *out = heap_zero(1, sizeof *out);
        struct arch_registers registers;
        bool good;

        out->tid = (uint32_t)t->tid;
        out->stopped = t->stopped && arch_read(t->tid, &registers);
        if (out->stopped)
                arch_describe(out, &registers);
        good = io_write(fd, out, sizeof *out);
        free(out);
        return good;
}

static bool tell(const struct target *g, int fd)
{
        struct first_tracer_answer answer = { .good = 1, .count = count_threads(g) };
        bool good = io_write(fd, &answer, sizeof answer);

        for (const struct task *t = tracer.tasks; good && t; t = t->next)
                if (t->target == g && t->tid == g->pid && !t->vforked && !t->ended)
                        good = tell_thread(t, fd);
        for (const struct task *t = tracer.tasks; good && t; t = t->next)
                if (t->target == g && t->tid != g->pid && !t->vforked)
                        good = tell_thread(t, fd);
        return good;
}

void still_begin(pid_t pid, int fd)
{
        struct first_tracer_answer gone = { .error = ESRCH };
        struct target *g = tracer.targets;
        struct still *k;

        while (g && (g->pid != pid || !g->users))
                g = g->next;
        if (!g) {
                io_write(fd, &gone, sizeof gone);
                close(fd);
                return;
        }
        g->users++; /* while its threads end under us */
        k = heap_zero(1, sizeof *k);
        *k = (struct still){ .target = g, .fd = fd, .next = tracer.stills };
        tracer.stills = k;
        stop_all(g);
        tell(g, fd);
}

static void go_on(struct target *g)
{
        struct task *next;

        for (struct task *t = tracer.tasks; t; t = next) {
                int status = t->held_status;

                next = t->next;
                if (t->target != g || !status)
                        continue;
                t->held_status = 0;
                engine_stopped(t, status);
        }
}

/* The other end was closed: it has read what it wanted, or is gone. */
static bool is_over(const struct still *k)
{
        char byte;
        ssize_t got = recv(k->fd, &byte, 1, MSG_DONTWAIT);

        return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

void still_look(void)
{
        struct still **at = &tracer.stills;

        while (*at) {
                struct still *k = *at;

                if (!is_over(k)) {
                        at = &k->next;
                        continue;
                }
                *at = k->next;
                close(k->fd);
                if (!still_holds(k->target))
                        go_on(k->target);
                target_release(k->target);
                free(k);
        }
}
