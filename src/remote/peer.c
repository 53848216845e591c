/* SPDX-License-Identifier: MIT */
#include "remote/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/heap.h"
#include "remote/channel.h"
#include "session/ask.h"
#include "wire/hello.h"

#define PEER_LIST_WAIT_MS 10000u
#define PEER_STEP_MS 50
#define PEER_RUNNING_MAX 4096u

struct talk {
        struct channel channel;
        struct board *board;
        bool lost; /* the host has gone while something was done for it */
};

/* ---- answers ---- */

static bool answer(struct talk *t, const struct protocol_answer *a, struct err *e)
{
        struct protocol_message m = { .type = PROTOCOL_ANSWER_TYPE, .answer = *a };

        return channel_send(&t->channel, &m, e);
}

static bool deny(struct talk *t, const char *text, struct err *e)
{
        struct protocol_answer a = { .status = ERR_EXIT_CANNOT_TRACE };

        snprintf(a.text, sizeof a.text, "%s", text);
        return answer(t, &a, e);
}

/* An answer with the whole of FILE behind it; FILE is closed. */
static bool answer_file(struct talk *t, struct protocol_answer *a, int file, struct err *e)
{
        uint8_t *piece = heap_zero(1, PROTOCOL_BODY_MAX);
        struct stat st = { 0 };
        uint64_t at = 0;
        bool good = fstat(file, &st) == 0;

        a->bytes = (uint64_t)st.st_size;
        good = good && answer(t, a, e);
        while (good && at < a->bytes) {
                ssize_t got = pread(file, piece, PROTOCOL_BODY_MAX, (off_t)at);

                if (got <= 0)
                        good = err_set(e, ERR_EXIT_CANNOT_TRACE,
                                       "a recording became shorter while it was sent");
                else if ((uint64_t)got > a->bytes - at)
                        got = (ssize_t)(a->bytes - at);
                good = good && channel_send_bytes(&t->channel, piece, (uint32_t)got, e);
                at += got > 0 ? (uint64_t)got : 0;
        }
        free(piece);
        close(file);
        return good;
}

/* ---- recordings that are finished ---- */

/* The last of PID; NULL none. */
static struct board_ended *ended_of(struct board *b, uint32_t pid)
{
        for (uint32_t i = b->count; i > 0; i--)
                if (b->ended[i - 1].pid == pid)
                        return &b->ended[i - 1];
        return NULL;
}

static bool send_ended(struct talk *t, const struct board_ended *d, struct err *e)
{
        struct protocol_answer a = { 0 };
        int file = open(d->path, O_RDONLY | O_CLOEXEC);

        if (file >= 0)
                return answer_file(t, &a, file, e);
        return deny(t, d->stored ? "a host has fetched that recording already, and it is not kept "
                                   "here any more"
                                 : "the recording cannot be read here any more",
                    e);
}

/* ---- what the observer knows ---- */

/* While it works: whether the host still waits. */
static void tick(void *context)
{
        struct protocol_message alive = { .type = PROTOCOL_ALIVE_TYPE };
        struct talk *t = context;
        struct err unused;

        t->lost = t->lost || !channel_send(&t->channel, &alive, &unused);
}

static bool send_status(struct talk *t, const struct wire_reply *reply, struct err *e)
{
        struct protocol_message m = { .type = PROTOCOL_STATUS_TYPE };
        struct wire_status s;

        memcpy(&s, reply->text, sizeof s);
        m.status = (struct protocol_status){ .allocations = s.allocations,
                                             .frees = s.frees,
                                             .live_bytes = s.live_bytes,
                                             .live_blocks = s.live_blocks,
                                             .lost = s.lost,
                                             .older = s.older,
                                             .start_realtime_ns = s.start_realtime_ns,
                                             .pause_ns = s.pause_ns,
                                             .off = s.off,
                                             .depth = s.depth,
                                             .follow = s.follow };
        memcpy(m.status.engine, s.engine, sizeof m.status.engine);
        memcpy(m.status.program, s.program, sizeof m.status.program);
        return channel_send(&t->channel, &m, e);
}

/* The place of a file on this machine is of no use on another; a report goes along. */
static bool send_reply(struct talk *t, const struct wire_request *ask,
                       const struct wire_reply *reply, int file, struct err *e)
{
        struct protocol_answer a = { .status = reply->status, .seq = reply->seq,
                                     .live_bytes = reply->live_bytes,
                                     .live_blocks = reply->live_blocks };

        if (reply->status || ask->type == WIRE_REQUEST_PROCESSES ||
            ask->type == WIRE_REQUEST_SNAPSHOT)
                snprintf(a.text, sizeof a.text, "%s", reply->text);
        if (ask->type == WIRE_REQUEST_SNAPSHOT && !reply->status) {
                size_t length = strlen(t->board->folder);

                file = open(reply->text, O_RDONLY | O_CLOEXEC);
                if (length && strncmp(reply->text, t->board->folder, length) == 0)
                        unlink(reply->text); /* a directory that is only for sending */
        }
        return file >= 0 ? answer_file(t, &a, file, e) : answer(t, &a, e);
}

/* Questions go to observer I from now on.  The processes that it records now, at most MAX. */
static uint32_t ask_observer(struct talk *t, uint32_t i, uint32_t *pids, uint32_t max)
{
        const struct board_session *s = &t->board->sessions[i];
        struct err unused = { 0 };

        ask_session(s->socket, tick, t);
        return ask_processes(s->pid, pids, max, &unused);
}

/* Those that are recorded now; at most MAX.  Their number. */
static uint32_t find_running(struct talk *t, uint32_t *pids, uint32_t max)
{
        uint32_t count = 0;

        for (uint32_t i = 0; i < t->board->session_count; i++)
                count += ask_observer(t, i, pids + count, max - count);
        return count;
}

/* Questions go to the observer of PID from now on.  Whether it is recorded. */
static bool find_observer(struct talk *t, uint32_t pid)
{
        uint32_t *pids = heap_zero(PEER_RUNNING_MAX, sizeof *pids);
        bool found = false;

        for (uint32_t i = 0; i < t->board->session_count && !found; i++) {
                uint32_t count = ask_observer(t, i, pids, PEER_RUNNING_MAX);

                for (uint32_t k = 0; k < count && !found; k++)
                        found = pids[k] == pid;
        }
        free(pids);
        return found;
}

static bool is_main(const struct board *b, uint32_t pid)
{
        for (uint32_t i = 0; i < b->session_count; i++)
                if (b->sessions[i].pid == pid)
                        return true;
        return false;
}

/* As the commands of this machine would ask. */
static bool forward(struct talk *t, const struct protocol_request *r, struct err *e)
{
        struct wire_request ask = { .magic = WIRE_REQUEST_MAGIC, .type = r->kind, .pid = r->pid,
                                    .flags = r->flags, .number = r->number };
        const struct board_ended *d = ended_of(t->board, r->pid);
        struct wire_reply reply = { 0 };
        struct err why = { 0 };
        int file = -1;
        bool good;

        for (size_t i = 0; i < sizeof ask.label - 1 && r->label[i]; i++)
                ask.label[i] = (unsigned char)r->label[i] < ' ' ? ' ' : r->label[i];
        find_observer(t, r->pid); /* or the last one, which says that it is none of its own */
        good = t->board->session_count && ask_forward(&ask, &reply, &file, &why);
        if (t->lost) {
                if (file >= 0)
                        close(file);
                return err_set(e, ERR_EXIT_CANNOT_TRACE, "the host has gone");
        }
        if ((!good || reply.status) && d &&
            (ask.type == WIRE_REQUEST_LOOK || ask.type == WIRE_REQUEST_SCAN))
                return send_ended(t, d, e);
        if (!good && d)
                return deny(t, "the process has ended: its recording is finished", e);
        if (!good)
                return deny(t, t->board->session_count ? why.text : "the program does not run yet",
                            e);
        if (!reply.status &&
            (ask.type == WIRE_REQUEST_STATUS || ask.type == WIRE_REQUEST_CONTROL))
                return send_status(t, &reply, e);
        return send_reply(t, &ask, &reply, file, e);
}


static bool send_memory(struct talk *t, const struct protocol_request *r, struct err *e)
{
        struct protocol_answer a = { .bytes = r->number };
        struct iovec to, from = { (void *)(uintptr_t)r->address, r->number };
        uint8_t *bytes;
        bool good;

        if (!r->number || r->number > PROTOCOL_MEMORY_MAX || !find_observer(t, r->pid))
                return deny(t, "1 byte to 1 MiB of a process that is recorded can be read", e);
        bytes = heap_zero(1, r->number);
        to = (struct iovec){ bytes, r->number };
        if (process_vm_readv((pid_t)r->pid, &to, 1, &from, 1, 0) != (ssize_t)r->number) {
                free(bytes);
                return deny(t, "the memory cannot be read there", e);
        }
        good = answer(t, &a, e);
        for (uint32_t at = 0; good && at < r->number; at += PROTOCOL_BODY_MAX)
                good = channel_send_bytes(&t->channel, bytes + at,
                                          r->number - at < PROTOCOL_BODY_MAX ? r->number - at
                                                                             : PROTOCOL_BODY_MAX,
                                          e);
        free(bytes);
        return good;
}

/* ---- the list ---- */

/* Until something is new, some seconds, or the host says or does something else. */
static void await_news(struct talk *t, uint32_t known)
{
        uint64_t end_ns = clock_now_ns() + PEER_LIST_WAIT_MS * 1000000ull;

        while (t->board->serial == known && !t->board->closing && clock_now_ns() < end_ns &&
               channel_poll(&t->channel, PEER_STEP_MS) == 0)
                ;
}

static bool send_process(struct talk *t, const struct protocol_process *p, struct err *e)
{
        struct protocol_message m = { .type = PROTOCOL_PROCESS_TYPE, .process = *p };

        return channel_send(&t->channel, &m, e);
}

static bool send_running(struct talk *t, uint32_t pid, struct err *e)
{
        struct protocol_process p = { .pid = pid };
        struct wire_status s;

        if (is_main(t->board, pid))
                p.flags |= PROTOCOL_PROCESS_MAIN;
        if (ask_glance(pid, &s) == ASK_ANSWERED) {
                p.flags |= s.off ? PROTOCOL_PROCESS_OFF : 0;
                p.live_bytes = s.live_bytes;
                p.start_realtime_ns = s.start_realtime_ns;
                memcpy(p.engine, s.engine, sizeof p.engine);
                memcpy(p.program, s.program, sizeof p.program);
        }
        return send_process(t, &p, e);
}

static bool send_list(struct talk *t, const struct protocol_request *r, struct err *e)
{
        struct protocol_message m = { .type = PROTOCOL_LIST_TYPE };
        uint32_t *pids = heap_zero(PEER_RUNNING_MAX, sizeof *pids), running, ended;
        struct board *b = t->board;
        bool good;

        if (r->flags & PROTOCOL_LIST_WAIT)
                await_news(t, r->number);
        m.list.serial = b->serial; /* first: what comes meanwhile is news */
        m.list.state = b->state;
        m.list.exit = b->exit;
        running = m.list.state == PROTOCOL_STATE_RUNNING
                          ? find_running(t, pids, PEER_RUNNING_MAX)
                          : 0;
        ended = b->count;
        m.list.count = running + ended;
        good = channel_send(&t->channel, &m, e);
        for (uint32_t i = 0; good && i < ended; i++) {
                const struct board_ended *d = &b->ended[i];
                struct protocol_process p = { .number = i, .pid = d->pid,
                                              .flags = PROTOCOL_PROCESS_ENDED |
                                                       (d->is_main ? PROTOCOL_PROCESS_MAIN : 0u) };

                memcpy(p.program, d->program, sizeof p.program);
                good = send_process(t, &p, e);
        }
        for (uint32_t i = 0; good && i < running; i++)
                good = send_running(t, pids[i], e);
        free(pids);
        return good;
}

/* ---- requests ---- */

static bool obey(struct talk *t, const struct protocol_request *r, struct err *e)
{
        struct board *b = t->board;
        bool known = r->number < b->count;

        switch (r->kind) {
        case PROTOCOL_KIND_LIST:
                return send_list(t, r, e);
        case PROTOCOL_KIND_FINAL:
                return known ? send_ended(t, &b->ended[r->number], e)
                             : deny(t, "there is no such recording", e);
        case PROTOCOL_KIND_GOT:
                if (!known)
                        return deny(t, "there is no such recording", e);
                b->ended[r->number].stored = 1;
                b->serial++;
                return answer(t, &(struct protocol_answer){ 0 }, e);
        case PROTOCOL_KIND_MEMORY:
                return send_memory(t, r, e);
        }
        if (r->kind < WIRE_REQUEST_SNAPSHOT || r->kind > WIRE_REQUEST_CONTROL)
                return deny(t, "this seep does not know the request: it is another version", e);
        return forward(t, r, e);
}

/* The next request; false: the host has gone, has nothing to ask, or the session is over. */
static bool await_request(struct talk *t)
{
        uint64_t end_ns = clock_now_ns() + PEER_IDLE_MS * 1000000ull;
        int ready;

        do
                ready = channel_poll(&t->channel, PEER_STEP_MS);
        while ((ready == 0 || (ready < 0 && errno == EINTR)) && !t->board->closing &&
               clock_now_ns() < end_ns);
        return ready > 0;
}

bool peer_serve(const struct peer *p, struct err *e)
{
        struct talk *t = heap_zero(1, sizeof *t);
        struct protocol_message m;
        struct err why = { 0 };
        bool greeted, good;

        t->board = p->board;
        channel_init(&t->channel, p->fd, p->fd, "the host");
        good = greeted = channel_greet(&t->channel, p->token, &why);
        if (greeted)
                p->board->clients++;
        while (good && await_request(t)) {
                good = channel_receive(&t->channel, &m, CHANNEL_PATIENCE_MS, &why);
                if (good && m.type != PROTOCOL_REQUEST_TYPE)
                        good = err_set(&why, ERR_EXIT_CANNOT_TRACE, "a request was expected");
                good = good && obey(t, &m.request, &why);
        }
        if (!good)
                channel_refuse(&t->channel, &why);
        if (!greeted)
                *e = why;
        free(t);
        return greeted;
}
