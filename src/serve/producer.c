/* SPDX-License-Identifier: MIT */
#include "serve/producer.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "base/heap.h"
#include "base/io.h"
#include "serve/inquiry.h"

/* In front of an answer. */
struct producer_head {
        uint32_t status, type; /* enum reply_* */
        uint64_t live, bytes;
};

/* ---- in the process ---- */

static bool is_order(const char *order, const char *word, struct request_text *query)
{
        size_t length = strlen(word);

        if (strncmp(order, word, length) != 0 || order[length] != '?')
                return false;
        *query = (struct request_text){ order + length + 1, strlen(order + length + 1) };
        return true;
}

static bool fulfil(struct served *x, const char *order, struct producer_head *head, struct str *out,
                   struct err *e)
{
        static const struct {
                const char *word;
                enum reply_type type;
                bool (*make)(struct served *, struct request_text, struct str *, struct err *);
        } orders[] = { { "data", REPLY_DATA, served_data },
                       { "source", REPLY_JSON, served_source },
                       { "search", REPLY_DATA, inquiry_search },
                       { "snapshot", REPLY_JSON, inquiry_snapshot },
                       { "sql", REPLY_JSON, inquiry_sql },
                       { "why", REPLY_JSON, inquiry_why } };
        struct request_text query;

        for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
                if (is_order(order, orders[i].word, &query)) {
                        head->type = orders[i].type;
                        return orders[i].make(x, query, out, e);
                }
        return err_set(e, ERR_EXIT_USAGE, "no such page");
}

static struct reply_body *answer(struct served *x, const char *order, struct producer_head *head)
{
        struct str out = { 0 };
        struct err e = { 0 };

        if (fulfil(x, order, head, &out, &e))
                return reply_body(REPLY_OK, head->type, &out);
        str_free(&out);
        return reply_error(e.exit_code == ERR_EXIT_USAGE ? REPLY_WRONG : REPLY_FAILED, e.text);
}

static bool work(struct served *x, int fd)
{
        char order[REQUEST_BYTES_MAX + 1];
        ssize_t got = recv(fd, order, sizeof order - 1, 0);
        struct producer_head head = { 0 };
        struct reply_body *body;
        bool good;

        if (got <= 0)
                return got < 0 && errno == EINTR;
        order[got] = 0;
        body = answer(x, order, &head);
        head = (struct producer_head){ body->status, body->type, x->live, body->text.length };
        good = io_write(fd, &head, sizeof head) &&
               io_write(fd, str_get(&body->text), body->text.length);
        reply_leave(body);
        return good;
}

/* Signals stay blocked as they are in the server: it ends with that. */
static bool run(void *context, int fd)
{
        struct producer *d = context;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (work(d->served, fd))
                ;
        return true;
}

/* Symbols have files open that they read later: those stay. */
static void leave(void *context)
{
        struct producer *d = context;

        worker_close(&d->worker);
        d->leave(d->context);
}

/* ---- outside of it ---- */

void producer_init(struct producer *d, struct served *x, void (*leaving)(void *), void *context)
{
        *d = (struct producer){ .served = x, .leave = leaving, .context = context,
                                .worker = WORKER_NONE };
}

static void end_process(struct producer *d)
{
        worker_close(&d->worker);
        worker_end(&d->worker, 0);
}

static void forget_order(struct producer *d)
{
        free(d->order);
        d->order = NULL;
        str_free(&d->got);
}

void producer_close(struct producer *d)
{
        end_process(d);
        forget_order(d);
}

/* An order is far smaller than what such a socket takes at once, and there is no other in it. */
static bool give(const struct producer *d, const char *order)
{
        ssize_t length = (ssize_t)strlen(order);

        return d->worker.pid && send(d->worker.fd, order, (size_t)length, MSG_NOSIGNAL) == length;
}

bool producer_start(struct producer *d, const char *order)
{
        if (!give(d, order)) { /* none yet, or it died meanwhile */
                end_process(d);
                if (!worker_start(&d->worker, &(struct worker_order){ .work = run,
                                                                      .context = d,
                                                                      .leave = leave,
                                                                      .socket = SOCK_STREAM }) ||
                    !give(d, order))
                        return false;
        }
        d->order = heap_text(order);
        return true;
}

static bool is_whole(const struct producer *d, struct producer_head *head)
{
        if (d->got.length < sizeof *head)
                return false;
        memcpy(head, d->got.data, sizeof *head);
        return d->got.length - sizeof *head >= head->bytes;
}

struct reply_body *producer_take(struct producer *d, bool *live)
{
        char part[1 << 16];
        ssize_t got = recv(d->worker.fd, part, sizeof part, MSG_DONTWAIT);
        struct producer_head head;
        struct str text = { 0 };

        if (got < 0 && (errno == EINTR || errno == EAGAIN))
                return NULL;
        if (got <= 0) {
                end_process(d);
                forget_order(d);
                *live = d->served->live;
                return reply_error(REPLY_FAILED,
                                   "the data of this view could not be prepared: out of memory?");
        }
        str_bytes(&d->got, part, (size_t)got);
        if (!is_whole(d, &head))
                return NULL;
        str_bytes(&text, d->got.data + sizeof head, head.bytes);
        *live = head.live;
        forget_order(d);
        return reply_body(head.status, head.type, &text);
}
