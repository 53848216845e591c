/* SPDX-License-Identifier: MIT */
/*
 * inject_leave.c -- the agent removed from a process; and the thread of ours that does such things.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "attach/inject_parts.h"
#include "attach/procfs.h"
#include "base/clock.h"
#include "base/heap.h"

#define TRIES_NS 3000000000ull /* that threads are given to come out of the agent */
#define NAP_US 200u
#define NAP_MOST_US 20000u
#define SOON_MS 50u

/* ---- a thread of ours ---- */

static void *job_main(void *context)
{
        struct inject_job *job = context;

        prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0); /* where no priority is to be had: hold_nap() */
        job->run(job);
        return NULL;
}

/* Whoever ends us in the middle would end the other process, too; and see hold_disentangle(). */
bool inject_do(struct inject_job *job)
{
        sigset_t all, before;
        struct timespec until;
        pthread_t thread;
        int error;

        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        error = pthread_create(&thread, NULL, job_main, job);
        while (error == 0) {
                clock_gettime(CLOCK_REALTIME, &until);
                until.tv_nsec += SOON_MS * 1000000;
                until.tv_sec += until.tv_nsec / 1000000000;
                until.tv_nsec %= 1000000000;
                if (pthread_timedjoin_np(thread, NULL, &until) == 0)
                        break;
                hold_disentangle(job->pid);
        }
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        return error ? err_set(job->e, ERR_EXIT_CANNOT_TRACE, "cannot start a thread: %s",
                               strerror(error))
                     : job->good;
}

struct apart {
        struct inject *inject;
        bool (*what)(struct inject *, struct err *);
        struct err *e;
        bool good;
};

static void *apart_main(void *context)
{
        struct apart *a = context;

        a->good = a->what(a->inject, a->e);
        return NULL;
}

bool inject_apart(struct inject *j, bool (*what)(struct inject *, struct err *), struct err *e)
{
        struct apart a = { j, what, e, false };
        pthread_t thread;
        int error = pthread_create(&thread, NULL, apart_main, &a);

        if (error)
                return err_set(e, ERR_EXIT_CANNOT_TRACE, "cannot start a thread: %s",
                               strerror(error));
        pthread_join(thread, NULL);
        return a.good;
}

/* ---- out ---- */

/* All stand still: nobody comes in any more.  Another seep may have been here meanwhile. */
static bool take_out(struct inject *j, struct err *e)
{
        (void)e;
        if (!inject_read(j, j->words_at, &j->words, sizeof j->words) ||
            !inject_read(j, j->words.room.whole, j->room, WIRE_INJECT_ROOM) ||
            j->room->count > INJECT_PATCHES || j->room->area_count > INJECT_AREAS)
                return false;
        if (j->room->count)
                j->out->patched = j->room->count;
        inject_take_out(j);
        inject_write(j, j->words.gate.whole, &j->words.gate_off, sizeof j->words.gate_off);
        inject_write_room(j);
        j->inside = heap_grow(j->inside, j->hold->count + 1, sizeof *j->inside);
        j->inside_count = 0;
        for (uint32_t i = 0; j->room->alive && i < j->hold->count; i++)
                if (inject_is_inside(j, &j->hold->threads[i]))
                        j->inside[j->inside_count++] = j->hold->threads[i].tid;
        return true;
}

/* Those that were inside are looked at one by one: no other can have come. */
static bool look_inside(struct inject *j, struct err *e)
{
        uint32_t left = 0;

        for (uint32_t i = 0; i < j->inside_count; i++) {
                struct hold h = { 0 };
                bool inside = hold_one(&h, j->pid, j->inside[i], &(struct err){ 0 }) &&
                              (hold_is_partial(&h) || inject_is_inside(j, &h.threads[0]));

                hold_release(&h);
                if (inside)
                        j->inside[left++] = j->inside[i];
        }
        j->inside_count = left;
        (void)e;
        return true;
}

/* They may be among many that want a processor. */
static void wait_outside(struct inject *j)
{
        uint64_t begin = clock_now_ns();
        useconds_t nap = NAP_US;

        while (j->inside_count && clock_now_ns() - begin < TRIES_NS) {
                struct priority *raised = heap_zero(j->inside_count, sizeof *raised);
                uint32_t count = j->inside_count;

                for (uint32_t i = 0; i < count; i++)
                        priority_raise(&raised[i], j->inside[i]);
                usleep(nap);
                for (uint32_t i = 0; i < count; i++)
                        priority_restore(&raised[i]);
                free(raised);
                nap = nap * 2 < NAP_MOST_US ? nap * 2 : NAP_MOST_US;
                inject_apart(j, look_inside, &(struct err){ 0 });
        }
}

/* What the agent mapped; the others go on meanwhile. */
static bool give_back_held(struct inject *j, struct err *e)
{
        struct hold h = { 0 };
        bool good = inject_hold_one(j, &h, e);
        const char *why;

        j->hold = &h;
        why = good ? remote_begin(&j->remote, &h, &j->maps) : NULL;
        if (good && !why) {
                if (inject_run(j, j->words.leave.whole))
                        j->room->alive = 0;
                remote_end(&j->remote);
                inject_write_room(j);
        }
        hold_release(&h);
        return good && (!why || err_set(e, ERR_EXIT_CANNOT_TRACE, "process %d: %s", (int)j->pid,
                                        why));
}

bool inject_retire(struct inject *j, struct err *e)
{
        if (!inject_with_all(j, take_out, e))
                return false;
        wait_outside(j);
        return j->inside_count || !j->room->alive || inject_apart(j, give_back_held, e);
}

static void leave(struct inject_job *job)
{
        struct inject j;

        job->good = inject_open(&j, job->pid, procfs_living(job->pid), job->image, job->e);
        j.out = job->out;
        if (job->good && !inject_maps(&j)) /* not to be taken for "it was not there" */
                job->good = err_set(job->e, ERR_EXIT_CANNOT_TRACE, "process %d: %s", (int)job->pid,
                                    REMOTE_LOST);
        if (job->good && inject_find_image(&j)) {
                job->out->again = true;
                if (j.room->count || j.room->alive)
                        job->good = inject_retire(&j, job->e);
        }
        inject_close(&j);
}

bool inject_leave(pid_t pid, const char *image, struct inject_result *out, struct err *e)
{
        struct inject_job job = { .pid = pid, .image = image, .out = out, .e = e, .run = leave };

        *out = (struct inject_result){ .ledger = -1 };
        return inject_do(&job);
}
