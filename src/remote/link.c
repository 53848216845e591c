/* SPDX-License-Identifier: MIT */
#include "remote/link.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/heap.h"
#include "base/io.h"
#include "base/place.h"
#include "base/plain.h"

#define LINK_REQUEST_MS 660000u   /* a search for leaks of many gigabytes */
#define LINK_BYTES_MAX (4ull << 30) /* of one recording */
#define LINK_PROCESSES_MAX 16384u
#define LINK_STEP_MS 100
#define LINK_LIST_MS 12000u
#define LINK_NAMES_MAX 100 /* for a report whose name is taken */

/* ---- the link ---- */

static bool ask_over(void *context, const struct wire_request *request, struct wire_reply *reply,
                     int *file, struct err *e);

bool link_open(struct link *l, const char *address, const char *token_file, struct err *e)
{
        *l = (struct link){ .route = { .ask = ask_over, .context = l } };
        return address_parse(address, &l->address, e) &&
               (!token_file || proof_read_token(token_file, &l->token, e));
}

void link_route(struct link *l)
{
        ask_through(&l->route);
}

/* ---- a connection ---- */

bool link_connect(const struct link *l, struct link_connection *c, struct err *e)
{
        struct address a = l->address;
        char peer[320];
        int fd;

        if (a.kind == ADDRESS_NET && !a.near && !l->token.length)
                return err_set(e, ERR_EXIT_USAGE,
                               "%s is another machine: it needs a token (--token-file FILE, the "
                               "same on both sides); without one: ssh -L %s:localhost:%s %s, then "
                               "'seep connect localhost:%s', or 'seep connect ssh:%s'", a.text,
                               a.port, a.port, a.host, a.port, a.host);
        fd = address_dial(&a, &c->helper, e);
        if (fd < 0)
                return false;
        if (l->shown[0])
                snprintf(peer, sizeof peer, "%s", l->shown);
        else
                snprintf(peer, sizeof peer, "%s%s", a.kind == ADDRESS_SSH ? "ssh:" : "", a.text);
        channel_init(&c->channel, fd, fd, peer);
        c->channel.hello_flags = l->hello_flags;
        if (channel_hello(&c->channel, &l->token, &c->greeting, e))
                return true;
        link_disconnect(c);
        return false;
}

/* Without its connection ssh ends by itself. */
void link_disconnect(struct link_connection *c)
{
        close(c->channel.in);
        while (c->helper && waitpid(c->helper, NULL, 0) < 0 && errno == EINTR)
                ;
        c->helper = 0;
}

/* ---- questions ---- */

/* The answer to what was asked, which may take a while; TYPE 0: any. */
static bool await_answer(struct link_connection *c, struct protocol_message *m, uint32_t type,
                         struct err *e)
{
        uint64_t end_ns = clock_now_ns() + LINK_REQUEST_MS * 1000000ull;

        do {
                if (!channel_receive(&c->channel, m, CHANNEL_PATIENCE_MS, e))
                        return false;
        } while (m->type == PROTOCOL_ALIVE_TYPE && clock_now_ns() < end_ns);
        if (m->type == PROTOCOL_FAULT_TYPE) {
                plain_name(m->fault.text);
                return err_set(e, (int)(m->fault.code & 0x7f), "%s: %s", c->channel.peer,
                               m->fault.text);
        }
        return !type || m->type == type ||
               err_set(e, ERR_EXIT_CANNOT_TRACE, "%s sent message %u where %u was expected",
                       c->channel.peer, (unsigned)m->type, (unsigned)type);
}

static bool ask(struct link_connection *c, const struct protocol_request *r,
                struct protocol_message *m, struct err *e)
{
        struct protocol_message out = { .type = PROTOCOL_REQUEST_TYPE, .request = *r };

        return channel_send(&c->channel, &out, e) && await_answer(c, m, 0, e);
}

static bool refuse_type(struct link_connection *c, const struct protocol_message *m, struct err *e)
{
        return err_set(e, ERR_EXIT_CANNOT_TRACE, "%s sent message %u, which is no answer",
                       c->channel.peer, (unsigned)m->type);
}

/* So much of a recording as a machine like this one can read. */
static uint64_t bytes_max(void)
{
        uint64_t half = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 2;

        return half < LINK_BYTES_MAX ? half : LINK_BYTES_MAX;
}

/* BYTES that follow an answer, into FD. */
static bool take_bytes(struct link_connection *c, uint64_t bytes, int fd, struct err *e)
{
        struct protocol_message m;

        if (bytes > bytes_max())
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "%s wants to send %llu MiB, more than half of the memory here",
                               c->channel.peer, (unsigned long long)(bytes >> 20));
        while (bytes) {
                if (!channel_receive(&c->channel, &m, CHANNEL_PATIENCE_MS, e))
                        return false;
                if (m.type == PROTOCOL_ALIVE_TYPE)
                        continue;
                if (m.type != PROTOCOL_CHUNK_TYPE || !c->channel.length ||
                    c->channel.length > bytes)
                        return err_set(e, ERR_EXIT_CANNOT_TRACE,
                                       "%s did not send the recording that it promised",
                                       c->channel.peer);
                if (!io_write(fd, c->channel.body, c->channel.length))
                        return err_sys(e, ERR_EXIT_CANNOT_TRACE, "cannot keep what %s sent",
                                       c->channel.peer);
                bytes -= c->channel.length;
        }
        return true;
}

static int take_file(struct link_connection *c, uint64_t bytes, struct err *e)
{
        int fd = memfd_create("seep-remote", MFD_CLOEXEC);

        if (fd < 0) {
                err_sys(e, ERR_EXIT_CANNOT_TRACE, "cannot keep what %s sends", c->channel.peer);
                return -1;
        }
        if (take_bytes(c, bytes, fd, e))
                return fd;
        close(fd);
        return -1;
}

int link_fetch(struct link_connection *c, uint32_t number, struct err *e)
{
        struct protocol_request r = { .kind = PROTOCOL_KIND_FINAL, .number = number };
        struct protocol_message m;

        if (!ask(c, &r, &m, e))
                return -1;
        if (m.type == PROTOCOL_ANSWER_TYPE && !m.answer.status)
                return take_file(c, m.answer.bytes, e);
        plain_name(m.answer.text);
        if (m.type == PROTOCOL_ANSWER_TYPE)
                err_set(e, (int)(m.answer.status & 0x7f), "%s: %s", c->channel.peer,
                        m.answer.text);
        else
                refuse_type(c, &m, e);
        return -1;
}

bool link_stored(struct link_connection *c, uint32_t number, struct err *e)
{
        struct protocol_request r = { .kind = PROTOCOL_KIND_GOT, .number = number };
        struct protocol_message m;

        return ask(c, &r, &m, e) && (m.type == PROTOCOL_ANSWER_TYPE || refuse_type(c, &m, e));
}

/* ---- the list ---- */

/* A target answers after some seconds, whether there is news or not.  false: STOP. */
static bool await_list(struct link_connection *c, const volatile sig_atomic_t *stop)
{
        uint64_t end_ns = clock_now_ns() + LINK_LIST_MS * 1000000ull;

        while (stop && !*stop && clock_now_ns() < end_ns &&
               channel_poll(&c->channel, LINK_STEP_MS) == 0)
                ;
        return !stop || !*stop;
}

static bool take_list(struct link_connection *c, struct link_list *out, struct err *e)
{
        struct protocol_message m;

        if (!await_answer(c, &m, PROTOCOL_LIST_TYPE, e))
                return false;
        if (m.list.count > LINK_PROCESSES_MAX)
                return refuse_type(c, &m, e);
        out->head = m.list;
        out->at = heap_zero(m.list.count + 1, sizeof *out->at);
        while (out->count < out->head.count) {
                struct protocol_process *p = &out->at[out->count];

                if (!await_answer(c, &m, PROTOCOL_PROCESS_TYPE, e))
                        return false;
                *p = m.process;
                plain_name(p->program);
                plain_name(p->engine);
                out->count++;
        }
        return true;
}

static bool send_list(struct link_connection *c, uint32_t serial, uint32_t flags, struct err *e)
{
        struct protocol_message m = { .type = PROTOCOL_REQUEST_TYPE,
                                      .request = { .kind = PROTOCOL_KIND_LIST, .number = serial,
                                                   .flags = flags } };

        e->text[0] = 0;
        return channel_send(&c->channel, &m, e);
}

bool link_list_ask(struct link_connection *c, const struct link_list *known, struct err *e)
{
        return send_list(c, known->head.serial, PROTOCOL_LIST_WAIT, e);
}

bool link_list_take(struct link_connection *c, struct link_list *out, struct err *e)
{
        struct link_list now = { 0 };
        bool good = take_list(c, &now, e);

        if (good) {
                link_list_free(out);
                *out = now;
        } else {
                link_list_free(&now);
        }
        return good;
}

bool link_list(struct link_connection *c, struct link_list *out, const volatile sig_atomic_t *stop,
               struct err *e)
{
        return send_list(c, out->head.serial, stop ? PROTOCOL_LIST_WAIT : 0, e) &&
               await_list(c, stop) && link_list_take(c, out, e);
}

void link_list_free(struct link_list *l)
{
        free(l->at);
        l->at = NULL;
        l->count = 0;
}

const struct protocol_process *link_main(const struct link_list *l)
{
        const struct protocol_process *best = NULL;

        for (uint32_t i = 0; i < l->count; i++)
                if (!best || (l->at[i].flags & PROTOCOL_PROCESS_MAIN) ||
                    (!(best->flags & PROTOCOL_PROCESS_MAIN) &&
                     (best->flags & PROTOCOL_PROCESS_ENDED)))
                        best = &l->at[i];
        return best;
}

/* ---- the route of session/ask.h ---- */

static void take_status(const struct protocol_status *s, struct wire_reply *reply)
{
        struct wire_status to = { .allocations = s->allocations,
                                  .frees = s->frees,
                                  .live_bytes = s->live_bytes,
                                  .live_blocks = s->live_blocks,
                                  .lost = s->lost,
                                  .older = s->older,
                                  .start_realtime_ns = s->start_realtime_ns,
                                  .pause_ns = s->pause_ns,
                                  .off = s->off,
                                  .depth = s->depth,
                                  .follow = s->follow };

        memcpy(to.engine, s->engine, sizeof to.engine);
        memcpy(to.program, s->program, sizeof to.program);
        memcpy(reply->text, &to, sizeof to);
}

/* A report that the target sent (FD -1: there is nothing in it) gets its file here; REPLY names
 * it. */
static bool store_report(int fd, struct wire_reply *reply, struct err *e)
{
        const char *slash = strrchr(reply->text, '/');
        struct str text = { 0 }, name = { 0 };
        struct place p = PLACE_NONE;
        bool good = fd < 0 || (lseek(fd, 0, SEEK_SET) == 0 && io_read(fd, &text));

        str_text(&name, slash ? slash + 1 : reply->text);
        errno = EEXIST;
        for (int i = 1; good && i <= LINK_NAMES_MAX && errno == EEXIST; i++) {
                int out;

                place_close(&p);
                p = PLACE_NONE;
                if (i > 1) {
                        str_clear(&name);
                        str_format(&name, "%s.%d", slash ? slash + 1 : reply->text, i);
                }
                errno = 0;
                if (!place_open(&p, str_get(&name), PLACE_NEW) || (out = place_begin(&p)) < 0)
                        continue;
                if (io_write(out, text.data, text.length) && place_end(&p))
                        break;
        }
        good = good && access(str_get(&name), R_OK) == 0;
        if (!good)
                place_refuse(str_get(&name), ERR_EXIT_FINDINGS, e);
        place_close(&p);
        snprintf(reply->text, sizeof reply->text, "%s", str_get(&name));
        str_free(&text);
        str_free(&name);
        return good;
}

static bool take_answer(struct link_connection *c, const struct wire_request *request,
                        struct wire_reply *reply, int *file, struct err *e)
{
        struct protocol_request r = { .kind = request->type, .pid = request->pid,
                                      .flags = request->flags, .number = request->number };
        struct protocol_message m;
        bool good = true;
        int fd = -1;

        memcpy(r.label, request->label, sizeof r.label);
        r.label[sizeof r.label - 1] = 0;
        if (!ask(c, &r, &m, e))
                return false;
        *reply = (struct wire_reply){ .magic = WIRE_REQUEST_MAGIC };
        if (m.type == PROTOCOL_STATUS_TYPE) {
                take_status(&m.status, reply);
                return true;
        }
        if (m.type != PROTOCOL_ANSWER_TYPE)
                return refuse_type(c, &m, e);
        reply->status = m.answer.status;
        reply->seq = m.answer.seq;
        reply->live_bytes = m.answer.live_bytes;
        reply->live_blocks = m.answer.live_blocks;
        plain_name(m.answer.text);
        snprintf(reply->text, sizeof reply->text, "%.*s", (int)sizeof reply->text - 1,
                 m.answer.text);
        if ((r.kind == WIRE_REQUEST_STATUS || r.kind == WIRE_REQUEST_CONTROL) && !reply->status)
                return refuse_type(c, &m, e);
        if (m.answer.bytes && (fd = take_file(c, m.answer.bytes, e)) < 0)
                return false;
        if (r.kind == WIRE_REQUEST_SNAPSHOT && !(r.flags & WIRE_SNAPSHOT_TAG) && !reply->status)
                good = store_report(fd, reply, e);
        if (file && fd >= 0)
                *file = fd;
        else if (fd >= 0)
                close(fd);
        return good;
}

static bool ask_over(void *context, const struct wire_request *request, struct wire_reply *reply,
                     int *file, struct err *e)
{
        struct link_connection *c = heap_zero(1, sizeof *c);
        bool good = link_connect(context, c, e);

        if (good) {
                good = take_answer(c, request, reply, file, e);
                link_disconnect(c);
        }
        free(c);
        return good;
}
