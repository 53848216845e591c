/* SPDX-License-Identifier: MIT */
#include "remote/keeper.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/heap.h"
#include "base/own_folder.h"
#include "journal/incoming.h"
#include "profile/file.h"
#include "remote/board.h"
#include "remote/tracked.h"
#include "remote/server.h"
#include "session/listener.h"

#define KEEPER_STEP_MS 200
#define KEEPER_AGAIN_MS 60000u /* after a broken connection */
#define KEEPER_NAP_MS 500
#define KEEPER_MESSAGES 64 /* then it is another one's turn */

struct keeper {
        const struct keeper_job *job;
        int parent;
        struct link_connection *to;
        bool connected, current, ready, over, said_got, full;
        uint64_t lost_ns; /* since when it is not */
        struct server *server;
        struct listener listener;
        char where[128];
        struct tracked *tracked;
        uint32_t tracked_count, files;
        struct tracked_house house;
        struct pollfd *polled;
};

static void word(const struct keeper *k, int status, const char *text)
{
        struct keeper_word w = { .status = (uint32_t)status };

        snprintf(w.text, sizeof w.text, "%.1000s", text);
        (void)!send(k->parent, &w, sizeof w, MSG_NOSIGNAL); /* or nobody waits for it */
}

/* ---- processes ---- */

static struct tracked *find(struct keeper *k, uint32_t number)
{
        for (uint32_t i = 0; i < k->tracked_count; i++)
                if (k->tracked[i].number == number)
                        return &k->tracked[i];
        return NULL;
}

/* The last one of PID that is not over. */
static struct tracked *find_pid(struct keeper *k, uint32_t pid)
{
        for (uint32_t i = k->tracked_count; i > 0; i--)
                if (k->tracked[i - 1].pid == pid && k->tracked[i - 1].in)
                        return &k->tracked[i - 1];
        return NULL;
}

/* It has ended, or nothing more will come of it: its recording is finished. */
static void finish(struct keeper *k, struct tracked *p)
{
        struct str path = { 0 };
        struct profile profile;
        struct err e = { 0 };
        bool is_main = p->is_main; /* which is forgotten with the rest of it */

        if (!p->in)
                return;
        tracked_finish(&k->house, p, &profile);
        str_format(&path, "%s/%u.seep", k->job->folder, k->files++);
        if (file_write(&profile, str_get(&path), &e))
                server_recorded(k->server, &profile, str_get(&path), is_main);
        else
                k->job->wishes->say(e.text);
        profile_free(&profile);
        str_free(&path);
}

static void take_source(struct keeper *k, const struct protocol_source *s)
{
        struct tracked *p = find(k, s->number);

        if (p && (s->flags & PROTOCOL_SOURCE_OVER)) {
                finish(k, p);
                return;
        }
        if (s->flags & PROTOCOL_SOURCE_OVER || (p && p->over))
                return; /* it is known from before the connection broke */
        if (!p && k->tracked_count == BOARD_ENDED_MAX) {
                if (!k->full)
                        k->job->wishes->say("the target has more processes than can be kept: the "
                                            "others are left out");
                k->full = true;
                return;
        }
        if (!p) {
                k->tracked = heap_grow(k->tracked, k->tracked_count + 1, sizeof *k->tracked);
                p = &k->tracked[k->tracked_count++];
                tracked_init(p, s->number, s->pid);
        }
        p->late = s->flags & PROTOCOL_SOURCE_AGAIN;
        p->is_main = s->flags & PROTOCOL_SOURCE_MAIN;
        if (p->in)
                incoming_free(p->in); /* all of it is told anew */
        p->in = NULL;
        if (p->is_main || k->tracked_count == 1)
                server_program(k->server, s->pid, k->listener.path);
}

static void take_packet(struct keeper *k, const uint8_t *body, uint32_t length)
{
        struct incoming_head h;
        struct tracked *p;
        struct err e = { 0 };
        uint32_t number = 0;
        bool is_new;

        for (int i = 0; i < 4 && length >= 4; i++)
                number |= (uint32_t)body[i] << 8 * i;
        p = length >= 4 + JOURNAL_HEAD ? find(k, number) : NULL;
        if (!p || p->over || !incoming_head(body + 4, &h, &e) ||
            h.bytes != length - 4 - JOURNAL_HEAD) {
                if (e.text[0])
                        k->job->wishes->say(e.text);
                return;
        }
        is_new = !p->in;
        if (is_new && !(p->in = incoming_new(&e))) {
                k->job->wishes->say(e.text);
                p->over = true;
                return;
        }
        incoming_packet(p->in, &h, body + 4 + JOURNAL_HEAD);
        if (is_new)
                tracked_began(&k->house, p);
}

/* ---- the target ---- */

static void take_state(struct keeper *k, const struct protocol_state *s)
{
        k->current = true;
        if (s->state != PROTOCOL_STATE_ENDED || k->over)
                return;
        for (uint32_t i = 0; i < k->tracked_count; i++)
                finish(k, &k->tracked[i]);
        k->over = true;
        server_ended(k->server, (int)s->exit);
}

static bool take_message(struct keeper *k, struct err *e)
{
        struct channel *c = &k->to->channel;
        struct protocol_message m;
        struct tracked *p;

        if (!channel_receive(c, &m, CHANNEL_PATIENCE_MS, e))
                return false;
        if (m.type == PROTOCOL_JOURNAL_TYPE)
                take_packet(k, c->body, c->length);
        else if (m.type == PROTOCOL_SOURCE_TYPE)
                take_source(k, &m.source);
        else if (m.type == PROTOCOL_STATE_TYPE)
                take_state(k, &m.state);
        else if (m.type == PROTOCOL_ASKS_TYPE && (p = find(k, m.asks.number)))
                tracked_asks(&k->house, p, &m.asks);
        else if (m.type == PROTOCOL_MOMENT_TYPE && (p = find(k, m.moment.number)))
                tracked_moment(&k->house, p, m.moment.ticket);
        else if (m.type == PROTOCOL_FAULT_TYPE)
                return err_set(e, ERR_EXIT_CANNOT_TRACE, "%s: %.512s", c->peer, m.fault.text);
        return true;
}

static bool dial(struct keeper *k, struct err *e)
{
        struct protocol_message m = { .type = PROTOCOL_REQUEST_TYPE,
                                      .request = { .kind = PROTOCOL_KIND_JOURNAL } };

        k->current = false;
        k->connected = link_connect(k->job->link, k->to, e);
        if (k->connected && !channel_send(&k->to->channel, &m, e)) {
                link_disconnect(k->to);
                k->connected = false;
        }
        return k->connected;
}

static void lose(struct keeper *k, const char *why)
{
        char text[700];

        link_disconnect(k->to);
        k->connected = false;
        k->lost_ns = clock_now_ns();
        for (uint32_t i = 0; i < k->tracked_count; i++)
                tracked_lost(&k->house, &k->tracked[i]);
        if (k->over)
                return;
        snprintf(text, sizeof text, "%.512s; trying again for %u s", why, KEEPER_AGAIN_MS / 1000);
        k->job->wishes->say(text);
}

/* What is known is all that there will be. */
static void give_up(struct keeper *k)
{
        k->job->wishes->say("the target cannot be reached any more: what is known of its processes "
                            "is kept");
        for (uint32_t i = 0; i < k->tracked_count; i++)
                finish(k, &k->tracked[i]);
        k->over = true;
        server_ended(k->server, ERR_EXIT_CANNOT_TRACE);
}

static void connect_again(struct keeper *k)
{
        struct err e = { 0 };

        if (dial(k, &e))
                k->job->wishes->say("connected again: running processes are told anew");
        else if (clock_now_ns() - k->lost_ns > KEEPER_AGAIN_MS * 1000000ull)
                give_up(k);
}

/* ---- requests, as the observer of a session gets them ---- */

struct look {
        struct incoming *in;
};

static bool make_look(void *context, int file)
{
        struct look *l = context;
        struct profile p;
        struct err e;

        incoming_look(l->in, &p);
        return file_put(&p, file, &e);
}

static void answer_look(struct tracked *p, int fd)
{
        struct wire_reply reply = { .magic = WIRE_REQUEST_MAGIC, .seq = 1 };
        struct worker worker = WORKER_NONE;
        struct look l = { p->in };

        if (!worker_start(&worker, &(struct worker_order){ .work = make_look, .context = &l,
                                                           .file = "seep-look" }) ||
            worker_wait(&worker) != 0)
                listener_refuse(fd, "the inspecting process ended early; out of memory?");
        else
                listener_reply_file(fd, &reply, worker.fd);
        worker_close(&worker);
}

/* Their numbers from the FIRST on, as many as there is room for. */
static void answer_processes(struct keeper *k, uint32_t first, int fd)
{
        struct wire_reply reply = { .magic = WIRE_REQUEST_MAGIC };
        size_t length = 0;

        for (uint32_t i = 0; i < k->tracked_count; i++)
                if (k->tracked[i].in && reply.seq++ >= first && length + 12 < sizeof reply.text)
                        length += (size_t)snprintf(reply.text + length,
                                                   sizeof reply.text - length, "%u ",
                                                   k->tracked[i].pid);
        listener_reply(fd, &reply);
}

static void answer(struct keeper *k, const struct wire_request *ask, int fd)
{
        struct tracked *p = find_pid(k, ask->pid);

        if (ask->type == WIRE_REQUEST_PROCESSES)
                answer_processes(k, ask->number, fd);
        else if (!p)
                listener_refuse(fd, "process %u is not among those recorded there", ask->pid);
        else if (ask->type == WIRE_REQUEST_LOOK)
                answer_look(p, fd);
        else if (ask->type == WIRE_REQUEST_STATUS)
                tracked_ask_status(p, fd);
        else if (ask->type == WIRE_REQUEST_SNAPSHOT)
                tracked_ask_snapshot(&k->house, p, ask, fd);
        else if (!k->connected)
                listener_refuse(fd, "the connection to the target is lost just now");
        else if (ask->type == WIRE_REQUEST_SCAN)
                tracked_ask_scan(&k->house, p, ask, fd);
        else if (ask->type == WIRE_REQUEST_CONTROL)
                tracked_ask_control(&k->house, p, ask, fd);
        else
                listener_refuse(fd, "the recording of process %u ends with the program, or with "
                                    "'seep connect'", ask->pid);
}

static void take_requests(struct keeper *k)
{
        struct greeting g;
        struct err e = { 0 };
        int fd;

        while ((fd = listener_accept(k->listener.fd)) >= 0) {
                struct pollfd p = { .fd = fd, .events = POLLIN };
                enum listener_answer what = LISTENER_LATER;

                if (poll(&p, 1, KEEPER_STEP_MS) == 1)
                        what = listener_receive(fd, &g, &e);
                if (what == LISTENER_ASKED) {
                        answer(k, &g.request, fd);
                        continue;
                }
                if (what == LISTENER_COME)
                        listener_leave(&g);
                close(fd);
        }
}

/* The recordings of all that ended are where the user wants them: the target need not keep what it
 * has. */
static void say_got(struct keeper *k)
{
        struct protocol_message m = { .type = PROTOCOL_REQUEST_TYPE,
                                      .request = { .kind = PROTOCOL_KIND_GOT } };
        struct err unused;

        if (!k->connected || !k->over || k->said_got || server_left(k->server))
                return;
        k->said_got = true;
        if (channel_send(&k->to->channel, &m, &unused))
                while (channel_receive(&k->to->channel, &m, CHANNEL_PATIENCE_MS, &unused) &&
                       m.type != PROTOCOL_ANSWER_TYPE)
                        ;
}

/* ---- searches ---- */

static void say_searched(void *context, const struct tracked *p, uint64_t definite)
{
        struct keeper *k = context;
        struct protocol_message m = { .type = PROTOCOL_REQUEST_TYPE,
                                      .request = { .kind = PROTOCOL_KIND_SEARCHED, .pid = p->pid,
                                                   .number = p->asked, .address = definite } };
        struct err e = { 0 };

        if (k->connected && !channel_send(&k->to->channel, &m, &e))
                lose(k, e.text);
}

/* ---- from beginning to end ---- */

static bool open_all(struct keeper *k, struct err *e)
{
        struct server_wishes wishes = { .listen = k->where, .folder = k->job->folder,
                                        .say = k->job->wishes->say };

        snprintf(k->where, sizeof k->where, "%s/seep.sock", k->job->folder);
        k->server = server_open(&wishes, e);
        return k->server && listener_open(&k->listener, geteuid(), false, e) && dial(k, e);
}

/* What is waited for: the first three are ours, the others those of the processes. */
static nfds_t fill_polled(struct keeper *k)
{
        nfds_t count = 3;

        k->polled = heap_grow(k->polled, 3 + (size_t)k->tracked_count * TRACKED_WAITS,
                              sizeof *k->polled);
        k->polled[0] = (struct pollfd){ .fd = k->parent, .events = POLLIN };
        k->polled[1] = (struct pollfd){ .fd = k->listener.fd, .events = POLLIN };
        k->polled[2] = (struct pollfd){ .fd = k->connected ? k->to->channel.in : -1,
                                        .events = POLLIN };
        for (uint32_t i = 0; i < k->tracked_count; i++) {
                int waits[TRACKED_WAITS];

                tracked_waits(&k->tracked[i], waits);
                for (uint32_t n = 0; n < TRACKED_WAITS; n++)
                        k->polled[count++] = (struct pollfd){ .fd = waits[n], .events = POLLIN };
        }
        return count;
}

static void take_messages(struct keeper *k)
{
        struct err e = { 0 };

        for (int i = 0; i < KEEPER_MESSAGES && k->connected &&
                        channel_poll(&k->to->channel, 0) > 0;
             i++)
                if (!take_message(k, &e))
                        lose(k, e.text);
}

/* Whether the parent is still there. */
static bool wait_and_work(struct keeper *k)
{
        nfds_t count = fill_polled(k);

        if (poll(k->polled, count, k->connected || k->over ? KEEPER_STEP_MS : KEEPER_NAP_MS) < 0 &&
            errno != EINTR)
                return false;
        if (k->polled[0].revents)
                return false;
        take_messages(k);
        if (k->polled[1].revents)
                take_requests(k);
        for (uint32_t i = 0; i < k->tracked_count; i++)
                tracked_look(&k->house, &k->tracked[i]);
        if (!k->connected && !k->over)
                connect_again(k);
        say_got(k);
        if (!k->ready && k->current) {
                k->ready = true;
                word(k, 0, k->where);
        }
        return true;
}

bool keeper_run(void *context, int fd)
{
        struct keeper k = { .job = context, .parent = fd };
        struct err e = { 0 };
        bool good;

        own_folder_hold(k.job->folder); /* also when the one that started us is killed */
        signal(SIGINT, SIG_IGN);
        signal(SIGHUP, SIG_IGN);
        signal(SIGTERM, SIG_IGN);
        signal(SIGPIPE, SIG_IGN);
        k.to = heap_zero(1, sizeof *k.to);
        k.house = (struct tracked_house){ .link = k.job->link, .wishes = k.job->wishes,
                                       .folder = k.job->folder, .context = &k,
                                       .searched = say_searched };
        k.listener.fd = -1;
        good = open_all(&k, &e);
        if (!good)
                word(&k, e.exit_code ? e.exit_code : ERR_EXIT_CANNOT_TRACE, e.text);
        while (good && wait_and_work(&k))
                ;
        if (good)
                say_got(&k);
        if (k.connected)
                link_disconnect(k.to);
        server_close(k.server);
        if (k.listener.fd >= 0)
                listener_close(&k.listener);
        own_folder_remove(k.job->folder);
        return true;
}
