/* SPDX-License-Identifier: MIT */
/*
 * push.c -- what happens in recorded processes, sent to a continuous-profiling server every few
 * seconds: the observer's side.
 */
#include "serve/push.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/headroom.h"
#include "base/heap.h"
#include "base/fdpass.h"
#include "base/worker.h"
#include "profile/file.h"
#include "serve/push_address.h"
#include "serve/push_http.h"
#include "serve/pusher.h"

#define PUSH_LOAD_S 20 /* for the library, on a busy machine */
#define PUSH_LOST_S 1  /* to tell that something is missing */
#define PUSH_NICE 10   /* names are looked up when nobody else wants the processor */

struct push {
        struct worker worker; /* with a socket to it */
        uint32_t lost; /* recordings that it had no room for */
};

/* ---- the process ---- */

static void say_nothing(const char *text)
{
        (void)text;
}

/* Signals of the terminal are for the program; we go when the observer goes.  Of the standard
 * descriptors stderr is kept, to speak. */
static void settle_process(const struct push_request *r)
{
        static const int ignored[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE };
        int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

        for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
                signal(ignored[i], SIG_IGN);
        setpriority(PRIO_PROCESS, 0, PUSH_NICE);
        dup2(nothing, STDIN_FILENO);
        dup2(nothing, STDOUT_FILENO);
        if (r->say == say_nothing)
                dup2(nothing, STDERR_FILENO);
        if (nothing > STDERR_FILENO)
                close(nothing);
}

struct job {
        const struct push_request *request;
        const struct push_address *to;
};

/* The first message back: empty text, or what is wrong. */
static bool run(void *context, int fd)
{
        const struct job *j = context;
        struct err e = { 0 };
        struct push_http *http;

        settle_process(j->request);
        headroom_offer(0);
        http = push_http_new(&e);
        if (send(fd, &e, sizeof e, MSG_NOSIGNAL) < 0 || !http)
                return false;
        pusher_run(j->request, j->to, http, fd);
        push_http_free(http);
        return true;
}

static bool wait_until_ready(int fd, struct err *e)
{
        struct timeval patience = { .tv_sec = PUSH_LOAD_S };
        struct err said;
        ssize_t got;

        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        do
                got = recv(fd, &said, sizeof said, 0);
        while (got < 0 && errno == EINTR);
        if (got != (ssize_t)sizeof said)
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "cannot push: the sending process did not start");
        if (!said.text[0])
                return true;
        *e = said;
        return false;
}

/* ---- outside of it ---- */

static struct push *start(const struct push_request *r, const struct push_address *t, struct err *e)
{
        struct push *p = heap_zero(1, sizeof *p);

        if (!worker_start(&p->worker, &(struct worker_order){ .work = run,
                                                              .context = &(struct job){ r, t },
                                                              .socket = SOCK_SEQPACKET })) {
                err_sys(e, ERR_EXIT_CANNOT_TRACE, "cannot push");
                free(p);
                return NULL;
        }
        if (wait_until_ready(p->worker.fd, e))
                return p;
        push_close(p);
        return NULL;
}

struct push *push_open(const struct push_request *r, struct err *e)
{
        struct push_request settled = *r;
        struct push_address to;
        struct push *p;

        settled.every_ms = r->every_ms ? r->every_ms : PUSH_EVERY_MS;
        settled.say = r->say ? r->say : say_nothing;
        if (settled.every_ms < PUSH_EVERY_MIN_MS) {
                err_set(e, ERR_EXIT_USAGE, "profiles can be pushed at most once per second");
                return NULL;
        }
        if (!push_address_parse(&to, r, e))
                return NULL;
        p = start(&settled, &to, e);
        push_address_free(&to);
        return p;
}

/* FILE: a descriptor to go along, -1 none.  FLAGS of sendmsg(). */
static bool tell(const struct push *p, uint32_t pid, int file, int flags)
{
        struct pusher_news news = { pid, p->lost };

        return fdpass_send(p->worker.fd, &news, sizeof news, file, flags) >= 0;
}

void push_program(struct push *p, uint32_t pid)
{
        if (p)
                tell(p, pid, -1, MSG_DONTWAIT);
}

static int open_image(const struct profile *recording)
{
        int file = memfd_create("seep-push", MFD_CLOEXEC);
        struct err e = { 0 };

        if (file < 0 || file_put(recording, file, &e))
                return file;
        close(file);
        return -1;
}

void push_recorded(struct push *p, const struct profile *recording, const char *path)
{
        int file = !p ? -1 : path ? open(path, O_RDONLY | O_CLOEXEC) : open_image(recording);

        if (file < 0)
                return;
        /* When the process does not listen, nobody waits for it. */
        p->lost += !tell(p, 0, file, MSG_DONTWAIT);
        close(file);
}

bool push_close(struct push *p)
{
        struct timeval patience = { .tv_sec = PUSH_LOST_S };
        bool told, ended;

        if (!p)
                return true;
        setsockopt(p->worker.fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        told = !p->lost || tell(p, 0, -1, 0);
        worker_close(&p->worker);
        ended = worker_end(&p->worker, PUSH_PATIENCE_MS) == 0;
        free(p);
        return told && ended;
}
