/* SPDX-License-Identifier: MIT */
#include "remote/server.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/heap.h"
#include "base/worker.h"
#include "remote/address.h"
#include "remote/board.h"
#include "remote/channel.h"
#include "remote/peer.h"

#define SERVER_STEP_MS 200
#define SERVER_LAST_MS 10000u /* for what hosts are just getting */
#define SERVER_REFUSED_MAX 20u /* sentences about hosts that were refused */

struct server {
        struct server_wishes wishes;
        struct address address;
        struct proof_token token;
        struct board *board;
        struct worker listener;
        char where[320];
        int fd;
        pid_t peers[SERVER_PEERS_MAX]; /* in the process that listens */
};

/* ---- one host ---- */

struct host {
        struct server *server;
        int fd;
};

static void say_refused(struct server *s, const char *why)
{
        char text[640];

        if (s->board->refused++ >= SERVER_REFUSED_MAX)
                return;
        snprintf(text, sizeof text, "a host was refused: %.512s", why);
        s->wishes.say(text);
}

static bool run_peer(void *context, int unused)
{
        struct host *h = context;
        struct peer p = { h->server->board, &h->server->token, h->fd };
        struct err e = { 0 };

        (void)unused;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(h->server->fd);
        if (!peer_serve(&p, &e))
                say_refused(h->server, e.text);
        return true;
}

static void refuse(struct server *s, int fd, const char *why)
{
        struct channel *c = heap_zero(1, sizeof *c);
        struct err e = { 0 };

        err_set(&e, ERR_EXIT_CANNOT_TRACE, "%s", why);
        channel_init(c, fd, fd, "the host");
        channel_refuse(c, &e); /* a fresh connection has room for it */
        say_refused(s, why);
        free(c);
}

/* How many are there still. */
static uint32_t reap(struct server *s)
{
        uint32_t count = 0;

        for (uint32_t i = 0; i < SERVER_PEERS_MAX; i++) {
                if (s->peers[i] && waitpid(s->peers[i], NULL, WNOHANG) != 0)
                        s->peers[i] = 0;
                count += s->peers[i] != 0;
        }
        return count;
}

static void accept_host(struct server *s)
{
        struct host h = { s, accept4(s->fd, NULL, NULL, SOCK_CLOEXEC) };
        struct worker peer = WORKER_NONE;
        uint32_t i = 0;

        if (h.fd < 0)
                return;
        address_watch(h.fd);
        reap(s);
        while (i < SERVER_PEERS_MAX && s->peers[i])
                i++;
        if (!s->token.length && !address_is_own(h.fd))
                refuse(s, h.fd, "it belongs to another user, and there is no --token-file");
        else if (i == SERVER_PEERS_MAX)
                refuse(s, h.fd, "too many hosts are connected already");
        else if (worker_start(&peer, &(struct worker_order){ .work = run_peer, .context = &h }))
                s->peers[i] = peer.pid;
        else
                refuse(s, h.fd, "no process can be started for it now");
        close(h.fd);
}

/* ---- the process that listens ---- */

/* Signals of the terminal are for the program; we go when the observer goes. */
static bool run_listener(void *context, int unused)
{
        static const int ignored[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE };
        struct server *s = context;
        uint64_t end_ns = 0;

        (void)unused;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
                signal(ignored[i], SIG_IGN);
        while (!s->board->closing) {
                struct pollfd p = { .fd = s->fd, .events = POLLIN };

                if (poll(&p, 1, SERVER_STEP_MS) > 0)
                        accept_host(s);
                reap(s);
        }
        close(s->fd);
        for (end_ns = clock_now_ns() + SERVER_LAST_MS * 1000000ull;
             reap(s) && clock_now_ns() < end_ns;)
                poll(NULL, 0, 10);
        return true;
}

/* ---- outside of it ---- */

/* Before anything is listened at: as far as the name tells.  After that: for sure. */
static bool may_listen(const struct server *s, struct err *e)
{
        return s->address.kind != ADDRESS_NET || s->address.near || s->token.length ||
               err_set(e, ERR_EXIT_USAGE,
                       "%s can be reached from other machines: it needs --token-file FILE, the "
                       "same on both sides; or listen at localhost, and on the other machine: ssh "
                       "-L %s:localhost:%s HOST", s->address.text, s->address.port,
                       s->address.port);
}

static bool open_socket(struct server *s, struct err *e)
{
        s->fd = address_listen(&s->address, s->where, e);
        return s->fd >= 0 && may_listen(s, e);
}

struct server *server_open(const struct server_wishes *w, struct err *e)
{
        struct server *s = heap_zero(1, sizeof *s);

        s->wishes = *w;
        s->fd = -1;
        s->listener = WORKER_NONE;
        s->board = mmap(NULL, sizeof *s->board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                        -1, 0);
        if (s->board == MAP_FAILED) {
                err_sys(e, ERR_EXIT_CANNOT_TRACE, "cannot serve");
                free(s);
                return NULL;
        }
        if (w->folder)
                snprintf(s->board->folder, sizeof s->board->folder, "%s", w->folder);
        if (address_parse(w->listen, &s->address, e) &&
            (!w->token_file || proof_read_token(w->token_file, &s->token, e)) &&
            open_socket(s, e)) {
                if (worker_start(&s->listener, &(struct worker_order){ .work = run_listener,
                                                                       .context = s })) {
                        close(s->fd);
                        s->fd = -1;
                        return s;
                }
                err_sys(e, ERR_EXIT_CANNOT_TRACE, "cannot serve");
        }
        if (s->fd >= 0)
                address_remove(&s->address);
        server_close(s);
        return NULL;
}

void server_close(struct server *s)
{
        if (!s)
                return;
        s->board->closing = 1;
        if (s->listener.pid) {
                worker_end(&s->listener, SERVER_LAST_MS + 2000);
                address_remove(&s->address);
        }
        if (s->fd >= 0)
                close(s->fd);
        munmap(s->board, sizeof *s->board);
        free(s);
}

const char *server_where(const struct server *s)
{
        return s->where;
}

bool server_is_far(const struct server *s)
{
        return !s->address.near;
}

uint32_t server_clients(const struct server *s)
{
        return s->board->clients;
}

/* ---- observers ---- */

/* Nobody else writes until release(); not even somebody who was killed while doing so. */
static void claim(struct board *b)
{
        const struct timespec nap = { .tv_nsec = 1000000 };
        uint32_t other = 0;

        while (!atomic_compare_exchange_strong(&b->writer, &other, (uint32_t)getpid())) {
                if (kill((pid_t)other, 0) != 0 && errno == ESRCH)
                        atomic_compare_exchange_strong(&b->writer, &other, 0);
                else
                        nanosleep(&nap, NULL);
                other = 0;
        }
}

static void release(struct board *b)
{
        b->serial++;
        b->writer = 0;
}

void server_program(struct server *s, uint32_t pid, const char *socket)
{
        struct board *b = s ? s->board : NULL;
        uint32_t i = 0;

        if (!b)
                return;
        claim(b);
        while (i < b->session_count && strcmp(b->sessions[i].socket, socket) != 0)
                i++;
        if (i < BOARD_SESSIONS_MAX) {
                b->sessions[i].pid = pid;
                snprintf(b->sessions[i].socket, sizeof b->sessions[i].socket, "%s", socket);
                if (i == b->session_count)
                        b->session_count++;
        }
        b->state = PROTOCOL_STATE_RUNNING;
        release(b);
}

void server_recorded(struct server *s, const struct profile *p, const char *path, bool is_main)
{
        struct board *b = s ? s->board : NULL;
        struct board_ended *d;

        if (!b || strlen(path) >= sizeof d->path)
                return;
        claim(b);
        if (b->count < BOARD_ENDED_MAX) {
                d = &b->ended[b->count];
                d->pid = p->meta.pid;
                d->is_main = is_main;
                snprintf(d->program, sizeof d->program, "%.*s", (int)sizeof d->program - 1,
                         p->meta.program);
                strcpy(d->path, path);
                b->count++;
        }
        release(b);
}

void server_moved(struct server *s, const char *from, const char *to)
{
        for (uint32_t i = 0; s && i < s->board->count; i++)
                if (strcmp(s->board->ended[i].path, from) == 0 &&
                    strlen(to) < sizeof s->board->ended[i].path)
                        strcpy(s->board->ended[i].path, to);
}

void server_ended(struct server *s, int exit)
{
        s->board->exit = (uint32_t)exit;
        s->board->state = PROTOCOL_STATE_ENDED;
        s->board->serial++;
}

uint32_t server_left(const struct server *s)
{
        uint32_t left = 0;

        for (uint32_t i = 0; i < s->board->count; i++)
                left += !s->board->ended[i].stored;
        return left;
}

const char *server_file(const struct server *s, uint32_t i, bool *stored)
{
        if (i >= s->board->count)
                return NULL;
        *stored = s->board->ended[i].stored;
        return s->board->ended[i].path;
}
