/* SPDX-License-Identifier: MIT */
/* client.c -- one connection of an HTTP client. */
#include "serve/client.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"

#define CLIENT_REQUEST_MS 10000u /* from the first byte of a request to its last */
#define CLIENT_IDLE_MS 60000u    /* between two requests */
#define CLIENT_WRITE_MS 30000u   /* without taking a byte */
#define CLIENT_LEAVE_MS 2000u

static void enter(struct client *c, enum client_state state, uint64_t patience_ms)
{
        c->state = state;
        c->since_ns = clock_now_ns();
        c->deadline_ns = patience_ms ? c->since_ns + patience_ms * 1000000u : UINT64_MAX;
}

void client_init(struct client *c, int fd)
{
        *c = (struct client){ .fd = fd };
        enter(c, CLIENT_READING, CLIENT_REQUEST_MS);
}

static void forget_reply(struct client *c)
{
        reply_leave(c->body);
        c->body = NULL;
        str_clear(&c->head);
        c->sent = 0;
        free(c->order);
        c->order = NULL;
}

void client_free(struct client *c)
{
        forget_reply(c);
        str_free(&c->head);
        str_free(&c->in);
        close(c->fd);
}

short client_events(const struct client *c)
{
        switch (c->state) {
        case CLIENT_READING:
        case CLIENT_LEAVING:
                return POLLIN;
        case CLIENT_WRITING:
                return POLLOUT;
        default:
                return POLLRDHUP;
        }
}

/* ---- requests ---- */

static void refuse(struct client *c, enum reply_status status, const char *why)
{
        struct reply_body *body = reply_error(status, why);

        c->close = true;
        c->no_body = c->knows = false;
        client_answer(c, body);
        reply_leave(body);
}

static bool ends_with_quote(const struct request_text *t)
{
        return t->length > 1 && t->at[t->length - 1] == '"';
}

/* W/"0123456789abcdef" or "0123456789abcdef", as we gave it. */
static void note_tag(struct client *c, const struct request *r)
{
        const struct request_text *t = &r->if_none_match;
        char digits[17] = "";

        c->knows = t->at && t->length >= 18 && ends_with_quote(t);
        if (c->knows)
                memcpy(digits, t->at + t->length - 17, 16);
        c->known_tag = strtoull(digits, NULL, 16);
}

bool client_next(struct client *c, struct request *r)
{
        if (c->state != CLIENT_READING || c->in.length == 0)
                return false;
        switch (request_parse(r, c->in.data, c->in.length)) {
        case REQUEST_WHOLE:
                c->close = r->close;
                c->no_body = r->method == REQUEST_HEAD;
                note_tag(c, r);
                return true;
        case REQUEST_WRONG:
                refuse(c, REPLY_WRONG, "this is not an HTTP/1.1 request");
                return false;
        case REQUEST_LARGE:
                refuse(c, REPLY_LARGE, "the request is too large");
                return false;
        default:
                return false;
        }
}

bool client_read(struct client *c, struct request *r)
{
        char part[REQUEST_BYTES_MAX];
        ssize_t got = recv(c->fd, part, sizeof part, MSG_DONTWAIT);

        if (got < 0 && (errno == EAGAIN || errno == EINTR))
                return false;
        if (got <= 0) {
                c->state = CLIENT_GONE;
                return false;
        }
        if (c->state == CLIENT_LEAVING)
                return false;
        if (c->in.length == 0)
                enter(c, CLIENT_READING, CLIENT_REQUEST_MS);
        str_bytes(&c->in, part, (size_t)got);
        return client_next(c, r);
}

void client_expire(struct client *c)
{
        if (c->state == CLIENT_READING && c->in.length)
                refuse(c, REPLY_LATE, "the request did not come in time");
        else
                c->state = CLIENT_GONE;
}

/* ---- answers ---- */

void client_wait(struct client *c, char *order)
{
        free(c->order);
        c->order = order;
        enter(c, CLIENT_WAITING, 0);
}

void client_answer(struct client *c, struct reply_body *body)
{
        bool same = c->knows && body->status == REPLY_OK && c->known_tag == body->tag;

        forget_reply(c);
        c->body = reply_share(body);
        c->no_body = c->no_body || same;
        reply_head(body, same, c->close, &c->head);
        enter(c, CLIENT_WRITING, CLIENT_WRITE_MS);
        client_write(c);
}

/* The request that was answered is over; what came behind it is the next one. */
static void finish(struct client *c)
{
        struct request done;

        forget_reply(c);
        if (c->close) {
                shutdown(c->fd, SHUT_WR);
                enter(c, CLIENT_LEAVING, CLIENT_LEAVE_MS);
                return;
        }
        request_parse(&done, c->in.data, c->in.length);
        c->in.length -= done.bytes;
        memmove(c->in.data, c->in.data + done.bytes, c->in.length);
        enter(c, CLIENT_READING, c->in.length ? CLIENT_REQUEST_MS : CLIENT_IDLE_MS);
}

void client_write(struct client *c)
{
        size_t body = c->no_body ? 0 : c->body->text.length, head = c->head.length,
               all = head + body;
        size_t skip = c->sent > head ? c->sent - head : 0;
        struct iovec parts[2] = { { c->head.data + (c->sent < head ? c->sent : head),
                                    c->sent < head ? head - c->sent : 0 },
                                  { c->body->text.data + (body ? skip : 0), body - skip } };
        struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
        ssize_t sent = sendmsg(c->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (sent < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (sent < 0) {
                c->state = CLIENT_GONE;
                return;
        }
        c->sent += (size_t)sent;
        enter(c, CLIENT_WRITING, CLIENT_WRITE_MS);
        if (c->sent == all)
                finish(c);
}
