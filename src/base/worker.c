/* SPDX-License-Identifier: MIT */
#include "base/worker.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/heap.h"

#ifdef __SANITIZE_ADDRESS__
/* Threads at their work share it; whoever forks has it alone. */
static pthread_rwlock_t beside = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static const pthread_rwlock_t nobody = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

struct begun {
        void *(*work)(void *context);
        void *context;
        sem_t runs;
};

static void fork_begins(void)
{
        pthread_rwlock_wrlock(&beside);
}

static void fork_is_done(void)
{
        pthread_rwlock_unlock(&beside);
}

/* The lock knows its writer by the thread's number, which is another one in the child: an unlock
 * there would take a reader away that never was, and the child's next fork would wait for ever. */
static void child_begins(void)
{
        beside = nobody;
}

__attribute__((constructor)) static void watch_forks(void)
{
        pthread_atfork(fork_begins, fork_is_done, child_begins);
}

void worker_beside_begin(void)
{
        pthread_rwlock_rdlock(&beside);
}

void worker_beside_end(void)
{
        pthread_rwlock_unlock(&beside);
}

static void *run_beside(void *context)
{
        struct begun *b = context, own = *b;

        worker_beside_begin();
        sem_post(&b->runs);
        own.context = own.work(own.context);
        worker_beside_end();
        return own.context;
}

/* The sanitizer allocates while a thread starts: it is waited for. */
int worker_beside(pthread_t *thread, void *(*work)(void *context), void *context)
{
        struct begun b = { .work = work, .context = context };
        int error;

        sem_init(&b.runs, 0, 0);
        error = pthread_create(thread, NULL, run_beside, &b);
        while (!error && sem_wait(&b.runs) != 0)
                ;
        sem_destroy(&b.runs);
        return error;
}
#else
void worker_beside_begin(void)
{
}

void worker_beside_end(void)
{
}

int worker_beside(pthread_t *thread, void *(*work)(void *context), void *context)
{
        return pthread_create(thread, NULL, work, context);
}
#endif

static void end_quietly(void)
{
        _exit(1);
}

void worker_bound(pid_t program, struct headroom *room, void (*full)(void))
{
        headroom_find(room, "", program);
        headroom_bound(room);
        heap_when_empty(full);
}

/* From now on this process is the first victim, too. */
static void yield_to(pid_t program)
{
        struct headroom room;

        headroom_offer(0);
        worker_bound(program, &room, end_quietly);
}

/* Its end of a socket, and no other descriptor of ours. */
static void stand_apart(int fd)
{
        signal(SIGPIPE, SIG_IGN);
        if (dup2(fd, WORKER_FD) < 0)
                _exit(1);
        close_range(WORKER_FD + 1, ~0u, 0);
}

static void run(const struct worker_order *o, int fd)
{
        if (o->socket && o->leave) {
                signal(SIGPIPE, SIG_IGN);
                o->leave(o->context);
        } else if (o->socket) {
                stand_apart(fd);
                fd = WORKER_FD;
        }
        if (o->program)
                yield_to(o->program);
        _exit(o->work(o->context, fd) ? 0 : 1);
}

bool worker_start(struct worker *w, const struct worker_order *o)
{
        int ends[2] = { -1, -1 };

        *w = WORKER_NONE;
        if (o->socket && socketpair(AF_UNIX, o->socket | SOCK_CLOEXEC, 0, ends) < 0)
                return false;
        if (o->file && (ends[0] = ends[1] = memfd_create(o->file, MFD_CLOEXEC)) < 0)
                return false;
        w->fd = ends[0];
        w->pid = fork();
        if (w->pid == 0)
                run(o, ends[1]);
        if (o->socket)
                close(ends[1]);
        if (w->pid > 0)
                return true;
        w->pid = 0;
        worker_close(w);
        return false;
}

int worker_wait(struct worker *w)
{
        int status = 0;

        while (w->pid && waitpid(w->pid, &status, 0) < 0 && errno == EINTR)
                ;
        w->pid = 0;
        return status;
}

int worker_end(struct worker *w, uint64_t patience_ms)
{
        uint64_t end_ns = clock_now_ns() + patience_ms * 1000000u;
        const struct timespec nap = { .tv_nsec = 5000000 };
        int status = 0;
        pid_t ended;

        /* -1: whoever else reaps our children was faster. */
        while (w->pid && ((ended = waitpid(w->pid, &status, WNOHANG)) == 0 ||
                          (ended < 0 && errno == EINTR))) {
                if (clock_now_ns() >= end_ns) {
                        kill(w->pid, SIGKILL);
                        return worker_wait(w);
                }
                nanosleep(&nap, NULL);
        }
        w->pid = 0;
        return status;
}

void worker_reaped(struct worker *w)
{
        w->pid = 0;
}

void worker_close(struct worker *w)
{
        int saved = errno;

        if (w->fd >= 0)
                close(w->fd);
        w->fd = -1;
        errno = saved;
}

bool worker_read(const struct worker *w, uint64_t at, void *to, size_t bytes)
{
        return w->fd >= 0 && pread(w->fd, to, bytes, (off_t)at) == (ssize_t)bytes;
}
