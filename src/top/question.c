/* SPDX-License-Identifier: MIT */
#include "top/question.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "session/ask.h"

bool question_open(struct question *e, uint32_t pid, struct err *err)
{
        *e = (struct question){ .pid = pid, .label = "top" };
        return pipe2(e->done, O_CLOEXEC) == 0 ||
               err_sys(err, ERR_EXIT_FINDINGS, "cannot create a pipe");
}

static void ask_question(struct question *e)
{
        uint64_t start = clock_now_ns();

        e->err = (struct err){ 0 };
        switch (e->kind) {
        case QUESTION_LEAKS:
        case QUESTION_WHY:
                e->good = ask_scan(e->pid, e->flags, &e->profile, &e->err);
                break;
        case QUESTION_SNAPSHOT:
                e->good = ask_snapshot(e->pid, e->label, &e->reply, &e->err);
                break;
        default:
                e->good = ask_look(e->pid, e->flags, &e->profile, &e->err);
        }
        e->cost_ns = clock_now_ns() - start;
}

static void forget(struct question *e)
{
        profile_free(&e->profile);
        close(e->done[0]);
        close(e->done[1]);
        free(e);
}

static void *run(void *question)
{
        struct question *e = question;
        char byte = 0;

        ask_question(e);
        if (atomic_exchange(&e->fate, QUESTION_ANSWERED) == QUESTION_ABANDONED)
                forget(e);
        else
                io_write(e->done[1], &byte, 1);
        return NULL;
}

/* Signals are for the thread of the view. */
void question_start(struct question *e, enum question_kind kind, uint32_t flags)
{
        sigset_t all, before;

        e->kind = kind;
        e->flags = flags;
        e->profile = (struct profile){ 0 }; /* that of the last answer is the caller's */
        atomic_store(&e->fate, QUESTION_ASKED);
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        if (pthread_create(&e->thread, NULL, run, e) != 0) {
                e->good = err_set(&e->err, ERR_EXIT_FINDINGS, "cannot create a thread");
                io_write(e->done[1], "", 1);
                e->thread = pthread_self();
                atomic_store(&e->fate, QUESTION_ANSWERED);
        }
        pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int question_fd(const struct question *e)
{
        return e->done[0];
}

void question_finish(struct question *e)
{
        char byte;

        if (read(e->done[0], &byte, 1) == 1 && !pthread_equal(e->thread, pthread_self()))
                pthread_join(e->thread, NULL);
}

void question_abandon(struct question *e)
{
        pthread_t thread = e->thread; /* which may free E from now on */

        if (atomic_exchange(&e->fate, QUESTION_ABANDONED) != QUESTION_ANSWERED) {
                pthread_detach(thread);
                return;
        }
        if (!pthread_equal(thread, pthread_self()))
                pthread_join(thread, NULL);
        forget(e);
}

void question_now(struct question *e, enum question_kind kind, uint32_t flags)
{
        e->kind = kind;
        e->flags = flags;
        ask_question(e);
}
