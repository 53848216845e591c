/* SPDX-License-Identifier: MIT */
/*
 * freeze.c -- a process held still: its threads, their registers, its memory; or a copy of it
 * that stays while it goes on.
 *
 * Keeps:  a thread of ours does all the tracing: when it ends, the kernel lets go even of threads
 *         that never came to a stop.
 */
#include "attach/freeze.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "attach/arch/arch.h"
#include "attach/copy.h"
#include "attach/core.h"
#include "attach/first_tracer.h"
#include "attach/hold.h"
#include "attach/mappings.h"
#include "attach/memory.h"
#include "attach/procfs.h"
#include "base/clock.h"
#include "base/heap.h"
#include "base/fdpass.h"
#include "base/str.h"

#define FREEZE_SOON_NS 100000000
#define FREEZE_GONE_LOOKS 5000
#define FREEZE_THREADS_MOST (1u << 22) /* more than a kernel gives numbers to */

typedef bool tracer_job(struct freeze *f, struct err *e);

struct freeze_state {
        pthread_t tracer;
        pid_t tid; /* of the tracer */
        sem_t todo, done;
        tracer_job *job; /* NULL: that was all */
        struct freeze *freeze;
        struct err *e;
        bool good, runs, held;
        int first_tracer; /* 0: we trace it ourselves.  Else closed when the process may go on */
        struct priority caller; /* until the process goes on, or long reading begins */
        struct hold hold;
        struct mappings mappings;
        struct memory memory, original; /* of the copy, if there is one; of the process itself */
};

/* ---- the tracer ---- */

static void wait_for(sem_t *s)
{
        while (sem_wait(s) != 0)
                ;
}

static void *tracer_main(void *state)
{
        struct freeze_state *s = state;
        struct priority priority;

        s->tid = gettid();
        prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0); /* where no priority is to be had: hold_nap() */
        priority_raise(&priority, s->tid);
        for (;;) {
                wait_for(&s->todo);
                if (!s->job)
                        return NULL;
                s->good = s->job(s->freeze, s->e);
                sem_post(&s->done);
        }
}

/* Whoever ends us in the middle of a job would end the other process, too. */
static sigset_t block_signals(void)
{
        sigset_t all, before;

        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        return before;
}

static bool tracer_start(struct freeze_state *s, struct err *e)
{
        sigset_t before = block_signals();
        int error;

        sem_init(&s->todo, 0, 0);
        sem_init(&s->done, 0, 0);
        error = pthread_create(&s->tracer, NULL, tracer_main, s);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        s->runs = error == 0;
        return s->runs ||
               err_set(e, ERR_EXIT_CANNOT_TRACE, "cannot start a thread: %s", strerror(error));
}

static bool is_done_soon(struct freeze_state *s)
{
        struct timespec until;

        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += FREEZE_SOON_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        return sem_clockwait(&s->done, CLOCK_MONOTONIC, &until) == 0;
}

static bool tracer_do(struct freeze *f, tracer_job *job, struct err *e)
{
        struct freeze_state *s = f->state;
        sigset_t before = block_signals();

        s->job = job;
        s->freeze = f;
        s->e = e;
        sem_post(&s->todo);
        while (!is_done_soon(s))
                hold_disentangle(f->pid);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        return s->good;
}

/* A thread is joined a moment before the kernel lets go of what it traced. */
static void tracer_end(struct freeze_state *s)
{
        if (!s->runs)
                return;
        s->job = NULL;
        sem_post(&s->todo);
        pthread_join(s->tracer, NULL);
        for (int i = 0; i < FREEZE_GONE_LOOKS && tgkill(getpid(), s->tid, 0) == 0; i++)
                hold_nap(HOLD_NAP_WHOLE);
        sem_destroy(&s->todo);
        sem_destroy(&s->done);
        s->runs = false;
}

/* ---- stopping ---- */

/* "NUMBER ARGUMENTS SP PC", or "running". */
static void describe_running(pid_t pid, struct freeze_thread *t)
{
        struct str text = { 0 };
        unsigned long long sp, pc;

        if (procfs_text(pid, (pid_t)t->tid, "syscall", &text) &&
            (sscanf(str_get(&text), "%*d %*x %*x %*x %*x %*x %*x %llx %llx", &sp, &pc) == 2 ||
             sscanf(str_get(&text), "-1 %llx %llx", &sp, &pc) == 2)) {
                t->sp = sp;
                t->pc = pc;
        }
        str_free(&text);
}

/* T does not stand still: what the kernel tells of it.  false: it runs on.  Its stack is not known,
 * and what it alone holds would be called lost. */
static bool describe_late(const struct freeze *f, struct freeze_thread *t, struct err *e)
{
        describe_running(f->pid, t);
        return t->sp || procfs_state(f->pid, (pid_t)t->tid) != 'R' ||
               err_set(e, ERR_EXIT_CANNOT_TRACE,
                       "thread %d of process %d did not stop within %d s: the machine is very "
                       "busy; try again",
                       (int)t->tid, (int)f->pid, (int)(HOLD_LATE_NS / 1000000000));
}

static bool describe_threads(struct freeze *f, struct err *e)
{
        const struct hold *h = &f->state->hold;

        free(f->threads);
        f->threads = heap_zero(h->count, sizeof *f->threads);
        f->thread_count = 0;
        for (uint32_t i = 0; i < h->count; i++) {
                struct freeze_thread *t = &f->threads[f->thread_count];

                *t = (struct freeze_thread){ .tid = (uint32_t)h->threads[i].tid,
                                             .stopped = h->threads[i].state == HOLD_STOPPED };
                if (t->stopped)
                        arch_describe(t, &h->threads[i].registers);
                else if (h->threads[i].state == HOLD_ASKED && !describe_late(f, t, e))
                        return false;
                f->thread_count += t->stopped || h->threads[i].state == HOLD_ASKED;
        }
        return true;
}

/* One that slept when it was looked at last, in vfork() say, may run when it is described. */
static bool hold_and_describe(struct freeze *f, struct err *e)
{
        struct freeze_state *s = f->state;

        s->held = hold_any(&s->hold, f->pid, e);
        while (s->held && !describe_threads(f, e))
                s->held = hold_any_further(&s->hold, e);
        return s->held;
}

static bool stop_job(struct freeze *f, struct err *e)
{
        struct freeze_state *s = f->state;
        struct str maps = { 0 };
        pid_t witness;

        if (!hold_and_describe(f, e))
                return false;
        f->narrow = s->hold.narrow;
        f->stopped_ns = s->hold.since_ns;
        witness = hold_witness(&s->hold);
        procfs_text(f->pid, witness, "maps", &maps);
        f->maps = maps.data ? maps.data : heap_text("");
        mappings_parse(&s->mappings, f->maps);
        memory_open(&s->original, f->pid, witness);
        return true;
}

static bool release_job(struct freeze *f, struct err *e)
{
        struct freeze_state *s = f->state;

        (void)e;
        s->hold.wait_offset = f->wait_offset;
        hold_release(&s->hold);
        s->held = false;
        f->pause_ns = clock_now_ns() - f->stopped_ns;
        return true;
}

static bool copy_job(struct freeze *f, struct err *e)
{
        f->copy = copy_make(&f->state->hold, &f->state->mappings, e);
        return f->copy != 0;
}

static bool end_copy_job(struct freeze *f, struct err *e)
{
        (void)e;
        copy_end(f->copy);
        f->copy = 0;
        return true;
}

/* ---- for others ---- */

/* Of the copy, which may be there when the process is not. */
static void find_root(struct freeze *f)
{
        snprintf(f->root, sizeof f->root, "/proc/%d/root",
                 (int)(f->copy ? f->copy : procfs_living(f->pid)));
}

bool freeze_stop(struct freeze *f, pid_t pid, struct err *e)
{
        struct freeze_state *s = heap_zero(1, sizeof *s);

        s->memory = s->original = MEMORY_CLOSED;
        *f = (struct freeze){ .pid = pid, .state = s };
        find_root(f);
        priority_raise(&s->caller, gettid());
        if (tracer_start(s, e) && tracer_do(f, stop_job, e))
                return true;
        freeze_close(f);
        return false;
}

/* Ask KEEPER to hold PID; where it answers.  -1: it does not. */
static int ask_first_tracer(int first_tracer, pid_t pid)
{
        struct first_tracer_order order = { FIRST_TRACER_HOLD, pid };
        int ends[2];
        bool sent;

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
                return -1;
        sent = fdpass_send(first_tracer, &order, sizeof order, ends[1], 0) ==
               (ssize_t)sizeof order;
        close(ends[1]);
        if (sent)
                return ends[0];
        close(ends[0]);
        return -1;
}

static bool receive(int fd, void *to, size_t bytes)
{
        return bytes == 0 || recv(fd, to, bytes, MSG_WAITALL) == (ssize_t)bytes;
}

const struct freeze_kind *freeze_kind(const struct freeze *f)
{
        uint16_t machine = f->machine ? f->machine : FREEZE_MACHINE;

        if (f->narrow && machine == FREEZE_MACHINE && FREEZE_NARROW_MACHINE != EM_NONE)
                machine = FREEZE_NARROW_MACHINE;
        return freeze_kind_of(machine);
}

bool freeze_is_foreign(const struct freeze *f)
{
        uint16_t machine = freeze_kind(f)->machine;

        return machine != FREEZE_MACHINE && machine != FREEZE_NARROW_MACHINE;
}

bool freeze_kept(struct freeze *f, pid_t pid, int first_tracer, struct err *e)
{
        struct freeze_state *s = heap_zero(1, sizeof *s);
        struct first_tracer_answer answer = { .error = EPIPE };
        struct str maps = { 0 };

        s->memory = s->original = MEMORY_CLOSED;
        *f = (struct freeze){ .pid = pid, .state = s, .stopped_ns = clock_now_ns() };
        find_root(f);
        s->first_tracer = ask_first_tracer(first_tracer, pid);
        s->held = s->first_tracer >= 0;
        if (!s->held || !receive(s->first_tracer, &answer, sizeof answer) || !answer.good ||
            answer.count > FREEZE_THREADS_MOST) {
                errno = answer.error;
                err_sys(e, ERR_EXIT_CANNOT_TRACE, "cannot stop process %d", (int)pid);
                freeze_close(f);
                return false;
        }
        f->threads = heap_zero(answer.count, sizeof *f->threads);
        while (f->thread_count < answer.count &&
               receive(s->first_tracer, &f->threads[f->thread_count], sizeof *f->threads))
                f->thread_count++;
        for (uint32_t i = 0; i < f->thread_count; i++)
                if (!f->threads[i].stopped && !describe_late(f, &f->threads[i], e)) {
                        freeze_close(f);
                        return false;
                }
        procfs_text(pid, f->thread_count ? (pid_t)f->threads[0].tid : pid, "maps", &maps);
        f->maps = maps.data ? maps.data : heap_text("");
        mappings_parse(&s->mappings, f->maps);
        memory_open(&s->original, pid, f->thread_count ? (pid_t)f->threads[0].tid : pid);
        return true;
}

bool freeze_copy(struct freeze *f, struct err *e)
{
        if (f->state->first_tracer)
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "it has breakpoints, which a copy would have, too");
        if (!tracer_do(f, copy_job, e)) {
                priority_restore(&f->state->caller);
                return false;
        }
        memory_open_copy(&f->state->memory, f->copy);
        find_root(f);
        return true;
}

#define EMULATED_BYTES (UINT64_C(1) << 32)

/* Lines of /proc/PID/maps: of the program, with its own addresses, or (REST) what lies above. */
static void put_maps(struct str *out, const struct freeze *f, bool rest)
{
        for (const char *line = f->maps, *end; *line; line = end) {
                unsigned long long from, to;
                size_t bytes = strcspn(line, "\n");
                int at = 0;

                end = line + bytes + (line[bytes] == '\n');
                if (sscanf(line, "%llx-%llx%n", &from, &to, &at) != 2 || from < f->base ||
                    (from - f->base >= EMULATED_BYTES) != rest)
                        continue;
                str_format(out, "%llx-%llx%.*s\n", rest ? from : from - f->base,
                           rest ? to : to - f->base, (int)bytes - at, line + at);
        }
}

void freeze_emulated(struct freeze *f, uint64_t start, const char *path)
{
        const struct mappings *all = &f->state->mappings;
        size_t length = strlen(path);
        struct str maps = { 0 };

        for (uint32_t i = 0; i < all->count && !f->base; i++) {
                const struct mapping *m = &all->at[i];
                size_t bytes = strcspn(m->path, "\n");

                if (!m->offset && m->start > start && bytes >= length &&
                    strncmp(m->path + bytes - length, path, length) == 0)
                        f->base = m->start - start;
        }
        if (!f->base)
                return;
        put_maps(&maps, f, false);
        put_maps(&maps, f, true);
        free(f->maps);
        f->maps = maps.data ? maps.data : heap_text("");
}

/* Where the kernel has what the program calls ADDRESS. */
static uint64_t place_of(const struct freeze *f, uint64_t address)
{
        return address < EMULATED_BYTES ? address + f->base : address;
}

/* Memory that the process keeps from its children (MADV_DONTFORK) can be read from the original
 * only. */
static void find_missing(struct freeze *f)
{
        struct mappings copied;
        struct str maps = { 0 };

        procfs_text(f->copy, f->copy, "maps", &maps);
        mappings_parse(&copied, str_get(&maps));
        mappings_compare(&f->state->mappings, &copied);
        mappings_free(&copied);
        str_free(&maps);
}

bool freeze_is_whole(struct freeze *f)
{
        const struct mappings *all = &f->state->mappings;

        find_missing(f);
        for (uint32_t i = 0; i < all->count; i++)
                if (all->at[i].missing && all->at[i].readable && all->at[i].writable)
                        return false;
        return true;
}

void freeze_drop(struct freeze *f)
{
        memory_close(&f->state->memory);
        tracer_do(f, end_copy_job, NULL);
        find_root(f);
        for (uint32_t i = 0; i < f->state->mappings.count; i++)
                f->state->mappings.at[i].missing = false;
}

/* Without a copy the tracer's work is done; its end frees threads that could not be stopped. */
void freeze_release(struct freeze *f)
{
        if (f->far && !f->far->released) {
                f->far->released = true;
                f->far->release(f->far->context);
        }
        if (f->core || f->far || !f->state->held)
                return;
        if (f->state->first_tracer) {
                close(f->state->first_tracer);
                f->state->held = false;
                f->pause_ns = clock_now_ns() - f->stopped_ns;
                return;
        }
        tracer_do(f, release_job, NULL);
        priority_restore(&f->state->caller);
        if (f->copy)
                find_missing(f);
        else
                tracer_end(f->state);
}

void freeze_close(struct freeze *f)
{
        struct freeze_state *s = f->state;

        core_close(f->core);
        if (!s) {
                if (f->far)
                        freeze_release(f);
                free(f->threads);
                free(f->maps);
                *f = (struct freeze){ 0 };
                return;
        }
        freeze_release(f);
        priority_restore(&s->caller);
        if (f->copy)
                tracer_do(f, end_copy_job, NULL);
        tracer_end(s);
        memory_close(&s->memory);
        memory_close(&s->original);
        mappings_free(&s->mappings);
        free(s);
        free(f->threads);
        free(f->maps);
        *f = (struct freeze){ 0 };
}

static const struct memory *memory_of(const struct freeze *f, const struct mapping *m)
{
        if (!f->copy)
                priority_restore(&f->state->caller);
        return f->copy && !(m && m->missing) ? &f->state->memory : &f->state->original;
}

size_t freeze_read(const struct freeze *f, uint64_t address, void *to, size_t bytes)
{
        const struct mapping *of;

        if (f->core)
                return core_read(f->core, address, to, bytes);
        if (f->far)
                return f->far->read(f->far->context, address, to, bytes);
        address = place_of(f, address);
        of = mappings_find(&f->state->mappings, address);
        return memory_read_in(memory_of(f, of), of, address, to, bytes);
}

/* Who is dead has no mappings. */
bool freeze_lasts(const struct freeze *f)
{
        struct str maps = { 0 };
        bool lasts = !f->copy || (procfs_text(f->copy, f->copy, "maps", &maps) && maps.length);

        str_free(&maps);
        return lasts && (!f->far || f->far->lasts(f->far->context));
}

void freeze_interrupted(const struct freeze *f, struct freeze_thread *t, uint64_t context)
{
        uint8_t state[ARCH_STATE_BYTES];
        struct arch_context c;

        memset(&c, 0, sizeof c);
        if (f->narrow)
                arch_describe_narrow(t, &c, freeze_read(f, context, &c, sizeof c));
        else if (freeze_read(f, context, &c, sizeof c) >= ARCH_CONTEXT_BYTES)
                arch_describe_interrupted(t, &c, state,
                                          freeze_read(f, arch_context_vectors(&c), state,
                                                      sizeof state));
}

/* Pages of shared memory may be in use and yet not in the page table of this process. */
static uint64_t next_used_in(const struct freeze *f, const struct mapping *m, uint64_t address,
                             uint64_t end)
{
        const struct memory *memory = memory_of(f, m);

        return m->shared ? memory_next_data(memory, m, address, end)
                         : memory_next_page(memory, address, end);
}

size_t freeze_words(const struct freeze *f, uint64_t address, uint64_t *to, size_t count)
{
        size_t width = f->narrow ? 4 : 8, got = freeze_read(f, address, to, count * width) / width;

        for (size_t i = got; f->narrow && i-- > 0;) { /* last first: they need more room now */
                uint32_t half;

                memcpy(&half, (const uint8_t *)to + width * i, width);
                to[i] = f->turned ? __builtin_bswap32(half) : half;
        }
        for (size_t i = 0; f->turned && !f->narrow && i < got; i++)
                to[i] = __builtin_bswap64(to[i]);
        return got;
}

static uint64_t next_used(const struct freeze *f, uint64_t address, uint64_t end)
{
        const struct mappings *all = &f->state->mappings;
        const struct mapping *m = mappings_find(all, address);
        uint64_t stop, found;

        for (; m && m < all->at + all->count && address < end; m++) {
                address = address > m->start ? address : m->start;
                stop = m->end < end ? m->end : end;
                found = address < stop ? next_used_in(f, m, address, stop) : stop;
                if (found < stop)
                        return found;
        }
        return end;
}

uint64_t freeze_next_used(const struct freeze *f, uint64_t address, uint64_t end)
{
        uint64_t shift;

        if (f->core)
                return core_next_used(f->core, address, end);
        if (f->far)
                return f->far->next_used(f->far->context, address, end);
        shift = place_of(f, address) - address;
        return next_used(f, address + shift, end + shift) - shift;
}
