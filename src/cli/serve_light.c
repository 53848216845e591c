/* SPDX-License-Identifier: MIT */
/*
 * serve_light.c -- `seep serve --light`: seep-target does the work, and we attach for it.
 *
 * Alone it attaches to fewer kinds of programs (target/attach.c).  So we do that, and hand it the
 * ledgers, each with a hello, through a socket that it was started with (--agents FD).  It says
 * first where agents of forked children find it, and with --wait it does so when a host is there.
 * When we close the socket, nothing more is recorded.
 */
#include "cli/serve_light.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/inject.h"
#include "attach/procfs.h"
#include "attach/refusal.h"
#include "attach/spawn.h"
#include "base/heap.h"
#include "base/fdpass.h"
#include "cli/message.h"
#include "ledger/ledger.h"
#include "session/endpoint.h"
#include "session/family.h"
#include "session/listener.h"
#include "wire/hello.h"

#define ANSWER_MS 200

struct attached {
        pid_t pid;
        int pidfd; /* -1: it is not recorded (any more) */
        int endpoint; /* who asks about it on this machine comes here */
};

struct light_run {
        const struct serve_light *s;
        char *agent, *image;
        char session[512];
        int socket; /* to seep-target */
        pid_t target;
        struct attached *all;
        uint32_t count;
};

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
static volatile sig_atomic_t told; /* one of them: leave */

static void on_signal(int number)
{
        told = number;
}

/* HOW: SIG_BLOCK, they come in await() only, or SIG_UNBLOCK. */
static void heed(int how)
{
        sigset_t set;

        sigemptyset(&set);
        for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
                sigaddset(&set, signals[i]);
        sigprocmask(how, &set, NULL);
}

/* Whether any of P is ready; a signal ends the wait. */
static bool await(struct pollfd *p, uint32_t count)
{
        sigset_t none;

        sigemptyset(&none);
        return ppoll(p, count, NULL, &none) > 0;
}

/* ---- seep-target ---- */

/* It is beside us: installed, or as it was built. */
static void find_target(char *out, size_t room)
{
        static const char *const places[] = { "seep-target", "target/seep-target" };
        char own[PATH_MAX];
        ssize_t got = readlink("/proc/self/exe", own, sizeof own - 1);

        while (got > 0 && own[got - 1] != '/')
                got--;
        for (int i = 0; i < 2; i++) {
                snprintf(out, room, "%.*s%s", got > 0 ? (int)got : 0, own, places[i]);
                if (access(out, X_OK) == 0)
                        return;
        }
}

int serve_light_become(const struct serve_light *s)
{
        char path[PATH_MAX + 32];

        find_target(path, sizeof path);
        execv(path, (char **)(uintptr_t)s->words);
        message("cannot run %s: %s", path, strerror(errno));
        return ERR_EXIT_CANNOT_TRACE;
}

static bool start_target(struct light_run *r, struct err *e)
{
        char number[16];
        int ends[2];

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
                return err_sys(e, ERR_EXIT_CANNOT_TRACE, "cannot serve");
        r->target = fork();
        if (r->target == 0) {
                fcntl(ends[1], F_SETFD, 0);
                snprintf(number, sizeof number, "%d", ends[1]);
                r->s->words[r->s->count] = "--agents";
                r->s->words[r->s->count + 1] = number;
                _exit(serve_light_become(r->s));
        }
        close(ends[1]);
        r->socket = ends[0];
        return r->target > 0 || err_sys(e, ERR_EXIT_CANNOT_TRACE, "cannot serve");
}

/* What agents are told.  False: it has ended, or we are to leave. */
static bool await_target(struct light_run *r)
{
        struct pollfd p = { .fd = r->socket, .events = POLLIN };
        char path[128];
        ssize_t got = await(&p, 1) ? recv(r->socket, path, sizeof path - 1, 0) : -1;

        if (got <= 0)
                return false;
        path[got] = 0;
        snprintf(r->session, sizeof r->session, "--journal=target:%s --overflow=%s --follow=%s%s",
                 path, r->s->overflow, r->s->follow, r->s->no_scan ? "" : " --leak-scan");
        return true;
}

/* A ledger, and whose it is. */
static bool hand_over(const struct light_run *r, pid_t pid, int ledger)
{
        struct wire_hello hello = { WIRE_HELLO_MAGIC, LEDGER_VERSION, WIRE_HELLO_START,
                                    (uint32_t)pid, 0 };

        return fdpass_send(r->socket, &hello, sizeof hello, ledger, 0) == (ssize_t)sizeof hello;
}

/* ---- processes ---- */

/* Nobody else records PID then. */
static bool claim(struct attached *a, pid_t pid, struct err *e)
{
        struct family_orphan left;
        bool orphan = family_is_orphan(pid, &left);

        if (!refusal_possible(pid, e) || !(orphan || refusal_is_own_kind(pid, e)) ||
            !refusal_sees_itself(pid, e))
                return false;
        *a = (struct attached){ pid, -1, endpoint_open((uint32_t)pid) };
        if (a->endpoint >= 0 && (orphan || !family_has_agent(pid)))
                return true;
        if (a->endpoint >= 0)
                close(a->endpoint);
        return err_set(e, ERR_EXIT_CANNOT_TRACE,
                       "process %d is being recorded already; 'seep detach %d' ends that",
                       (int)pid, (int)pid);
}

/* Who looks whether PID is recorded finds us in its ledger. */
static void sign(int ledger)
{
        uint32_t own = (uint32_t)getpid();

        (void)!pwrite(ledger, &own, sizeof own, offsetof(struct ledger_head, observer));
}

static void leave(const struct light_run *r, struct attached *a)
{
        struct inject_result result = { 0 };
        struct err e = { 0 };

        if (a->pidfd < 0)
                return;
        close(a->endpoint);
        if (!inject_leave(a->pid, r->image, &result, &e) &&
            refusal_possible(a->pid, &(struct err){ 0 }))
                message("%s; the agent stays in process %d until 'seep detach %d'", e.text,
                        (int)a->pid, (int)a->pid);
        close(a->pidfd);
        a->pidfd = -1;
}

static bool enter(struct light_run *r, pid_t pid, struct err *e)
{
        struct attached *a = &r->all[r->count];
        struct inject_request q = { .image = r->image, .library = r->agent, .session = r->session };
        struct inject_result result = { .ledger = -1 };
        bool good;

        if (!claim(a, pid, e))
                return false;
        good = inject_enter(pid, &q, &result, e);
        str_free(&result.refused);
        if (!good) {
                close(a->endpoint);
                return false;
        }
        a->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
        r->count++;
        sign(result.ledger);
        good = hand_over(r, pid, result.ledger) ||
               err_set(e, ERR_EXIT_CANNOT_TRACE, "seep-target has ended");
        close(result.ledger);
        return good;
}

/* Commands of this machine: all but 'seep detach' are for the host. */
static void answer(const struct light_run *r, const struct attached *a)
{
        struct wire_reply done = { .magic = WIRE_REQUEST_MAGIC };
        int fd = listener_accept(a->endpoint);
        struct pollfd p = { .fd = fd, .events = POLLIN };
        struct greeting g;
        struct err e = { 0 };

        if (fd < 0)
                return;
        if (poll(&p, 1, ANSWER_MS) != 1 || listener_receive(fd, &g, &e) != LISTENER_ASKED) {
                close(fd);
        } else if (g.request.type == WIRE_REQUEST_LEAVE && r->count == 1) {
                told = SIGTERM;
                listener_reply(fd, &done);
        } else {
                listener_refuse(fd, "process %d is recorded by 'seep serve --light', whose ledger "
                                    "a host keeps: 'seep connect ADDR' asks about it", (int)a->pid);
        }
}

static void ended(struct attached *a)
{
        close(a->pidfd);
        close(a->endpoint);
        a->pidfd = -1;
}

/* Whether what was waited for lets us go on. */
static bool look(struct light_run *r, const struct pollfd *p)
{
        uint32_t left = 0;

        for (uint32_t i = 0; i < r->count; i++) {
                struct attached *a = &r->all[i];

                if (a->pidfd >= 0 && p[2 * i + 1].revents)
                        answer(r, a);
                if (a->pidfd >= 0 && p[2 * i].revents)
                        ended(a);
                left += a->pidfd >= 0;
        }
        return left && !p[2 * r->count].revents;
}

/* Until all have ended, seep-target has, or we are told to leave. */
static void wait_for_end(struct light_run *r)
{
        struct pollfd *p = heap_zero(2 * r->count + 1, sizeof *p);
        bool more = r->count > 0;

        while (more && !told) {
                for (uint32_t i = 0; i < r->count; i++) {
                        const struct attached *a = &r->all[i];
                        int asked = a->pidfd >= 0 ? a->endpoint : -1;

                        p[2 * i] = (struct pollfd){ .fd = a->pidfd, .events = POLLIN };
                        p[2 * i + 1] = (struct pollfd){ .fd = asked, .events = POLLIN };
                }
                p[2 * r->count] = (struct pollfd){ .fd = r->socket, .events = POLLIN };
                if (await(p, 2 * r->count + 1))
                        more = look(r, p);
        }
        free(p);
}

/* It waits for a host that has all of it.  Told once more, it does not. */
static int await_end(struct light_run *r)
{
        int status = 0;
        pid_t got;

        close(r->socket);
        heed(SIG_UNBLOCK);
        while ((got = waitpid(r->target, &status, 0)) < 0 && errno == EINTR)
                kill(r->target, SIGTERM);
        return got < 0 || !WIFEXITED(status) ? ERR_EXIT_CANNOT_TRACE : WEXITSTATUS(status);
}

static int record(struct light_run *r, const struct pids *t)
{
        struct err e = { 0 };
        bool good = true;
        int status;

        heed(SIG_BLOCK);
        if (!await_target(r))
                return await_end(r);
        for (uint32_t i = 0; good && !told && i < t->count; i++)
                good = enter(r, t->list[i], &e);
        if (good)
                wait_for_end(r);
        for (uint32_t i = 0; i < r->count; i++)
                leave(r, &r->all[i]);
        status = await_end(r);
        return good ? status : message_error(&e);
}

int serve_light_attach(const struct serve_light *s, const struct pids *t)
{
        struct sigaction action = { .sa_handler = on_signal };
        struct light_run r = { .s = s, .socket = -1 };
        struct err e = { 0 };
        int status;

        for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
                sigaction(signals[i], &action, NULL);
        r.all = heap_zero(t->count, sizeof *r.all);
        if ((r.agent = spawn_find_agent(&e)) && (r.image = spawn_find_image(&e)) &&
            start_target(&r, &e))
                status = record(&r, t);
        else
                status = message_error(&e);
        free(r.agent);
        free(r.image);
        free(r.all);
        return status;
}
