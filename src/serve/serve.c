/* SPDX-License-Identifier: MIT */
#include "serve/serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/heap.h"
#include "serve/client.h"
#include "serve/producer.h"
#include "serve/served.h"
#include "serve/reply.h"

/* ---- the last few answers, for whoever asks the same again ---- */

enum { RECENT_PLACES = 8 };

struct recent {
        struct {
                char *order;
                struct reply_body *body;
                uint64_t used_ns;
                uint64_t until_ns; /* then it is out of date */
        } places[RECENT_PLACES];
};

/* NULL: not here, or out of date.  Stays ours. */
static struct reply_body *recent_find(struct recent *s, const char *order, uint64_t now_ns)
{
        for (int i = 0; i < RECENT_PLACES; i++)
                if (s->places[i].order && strcmp(s->places[i].order, order) == 0 &&
                    now_ns < s->places[i].until_ns) {
                        s->places[i].used_ns = now_ns;
                        return s->places[i].body;
                }
        return NULL;
}

static void clear(struct recent *s, int i)
{
        free(s->places[i].order);
        reply_leave(s->places[i].body);
        memset(&s->places[i], 0, sizeof s->places[i]);
}

/* BODY is shared.  What was not asked for longest goes. */
static void recent_put(struct recent *s, const char *order, struct reply_body *body,
                       uint64_t until_ns)
{
        int place = 0;

        for (int i = 0; i < RECENT_PLACES; i++) {
                if (s->places[i].order && strcmp(s->places[i].order, order) == 0) {
                        place = i;
                        break;
                }
                if (s->places[i].used_ns < s->places[place].used_ns)
                        place = i;
        }
        clear(s, place);
        s->places[place].order = heap_text(order);
        s->places[place].body = reply_share(body);
        s->places[place].used_ns = clock_now_ns();
        s->places[place].until_ns = until_ns;
}

/* The process has ended: what was said of it while it ran is out of date. */
static void recent_end(struct recent *s)
{
        for (int i = 0; i < RECENT_PLACES; i++)
                if (s->places[i].until_ns != UINT64_MAX)
                        clear(s, i);
}

static void recent_free(struct recent *s)
{
        for (int i = 0; i < RECENT_PLACES; i++)
                clear(s, i);
}

/* ---- the HTML page over HTTP, on this machine only ---- */

#define SERVE_CLIENTS_MAX 64u
#define SERVE_TOKEN_BYTES 16u
#define SERVE_DATA "data?" /* the order of everything, without a view */

enum { SERVE_LISTEN, SERVE_SIGNALS, SERVE_PRODUCER, SERVE_FIRST }; /* places of what is polled */

struct serve {
        int listen, signals;
        sigset_t mask_before;
        uint16_t port;
        char token[2 * SERVE_TOKEN_BYTES + 1];
        struct served served;
        struct producer producer;
        struct recent recent;
        struct reply_body *data, *page; /* the newest of everything, and the page with it */
        struct client *clients[SERVE_CLIENTS_MAX];
        uint32_t count;
        bool stop;
};

/* ---- answers ---- */

static void answer_error(struct client *c, enum reply_status status, const char *why)
{
        struct reply_body *body = reply_error(status, why);

        client_answer(c, body);
        reply_leave(body);
}

static struct reply_body *page(struct serve *s)
{
        struct str out = { 0 };
        char live[sizeof s->token + 8];

        if (!s->page) {
                snprintf(live, sizeof live, "/%s/data", s->token);
                page_join(s->data->text.data, s->data->text.length, live, &out);
                s->page = reply_body(REPLY_OK, REPLY_HTML, &out);
        }
        return s->page;
}

/* Not to be told apart by the time it takes. */
static bool knows_token(const struct serve *s, const struct request_text *path)
{
        size_t length = strlen(s->token);
        unsigned char difference = 0;

        if (path->length < length + 2)
                return false;
        for (size_t i = 0; i < length; i++)
                difference |= (unsigned char)(path->at[i + 1] ^ s->token[i]);
        return !difference && path->at[length + 1] == '/';
}

static bool is_own_name(const struct serve *s, const struct request_text *host)
{
        static const char *const names[] = { "127.0.0.1", "localhost" };
        char name[32];

        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
                snprintf(name, sizeof name, "%s:%u", names[i], s->port);
                if (request_is(host, name))
                        return true;
        }
        return false;
}

/* Below the token: what changes nothing, and may be told again; and what is done each time. */
static const char *const questions[] = { "data", "source", "sql", "why", NULL };
static const char *const deeds[] = { "search", "snapshot", NULL };

/* The one of WORDS that TEXT is; NULL: none. */
static const char *word_of(const struct request_text *text, const char *const *words)
{
        while (*words && !request_is(text, *words))
                words++;
        return *words;
}

/* For the producer; to be freed. */
static char *order_of(const struct request *r, const char *what)
{
        struct str order = { 0 };

        str_format(&order, "%s?", what);
        str_bytes(&order, r->query.at ? r->query.at : "", r->query.length);
        return order.data;
}

static void answer_or_wait(struct serve *s, struct client *c, const struct request *r,
                           const char *what)
{
        char *order = order_of(r, what);
        struct reply_body *body = recent_find(&s->recent, order, clock_now_ns());

        if (!body) {
                client_wait(c, order);
                return;
        }
        client_answer(c, body);
        free(order);
}

static bool is_deed(const char *order)
{
        struct request_text word = { order, strcspn(order, "?") };

        return word_of(&word, deeds) != NULL;
}

static void answer(struct serve *s, struct client *c, const struct request *r)
{
        struct request_text below;
        const char *word;

        if (!is_own_name(s, &r->host) || !knows_token(s, &r->path)) {
                answer_error(c, REPLY_FORBIDDEN, "access denied");
                return;
        }
        below = (struct request_text){ r->path.at + strlen(s->token) + 2,
                                       r->path.length - strlen(s->token) - 2 };
        if (r->method == REQUEST_POST && (word = word_of(&below, deeds)))
                client_wait(c, order_of(r, word));
        else if (r->method == REQUEST_OTHER || r->method == REQUEST_POST)
                answer_error(c, REPLY_METHOD, "only GET and HEAD");
        else if (below.length == 0)
                client_answer(c, page(s));
        else if ((word = word_of(&below, questions)))
                answer_or_wait(s, c, r, word);
        else
                answer_error(c, REPLY_UNKNOWN, "no such page");
}

/* ---- the producer ---- */

static struct client *longest_waiting(struct serve *s)
{
        struct client *found = NULL;

        for (uint32_t i = 0; i < s->count; i++)
                if (s->clients[i]->state == CLIENT_WAITING &&
                    (!found || s->clients[i]->since_ns < found->since_ns))
                        found = s->clients[i];
        return found;
}

static void start_work(struct serve *s)
{
        struct client *c;

        while (!s->producer.order && (c = longest_waiting(s)))
                if (!producer_start(&s->producer, c->order))
                        answer_error(c, REPLY_FAILED,
                                     "too many processes or too little memory to prepare the data");
}

static void note_data(struct serve *s, struct reply_body *body)
{
        reply_leave(s->data);
        reply_leave(s->page);
        s->data = reply_share(body);
        s->page = NULL;
}

static void take_work(struct serve *s)
{
        char *order = heap_text(s->producer.order);
        bool live;
        struct reply_body *body = producer_take(&s->producer, &live);
        uint64_t now_ns = clock_now_ns();

        if (body && body->status == REPLY_OK) {
                if (!live)
                        recent_end(&s->recent);
                if (!is_deed(order))
                        recent_put(&s->recent, order, body,
                                   live ? now_ns + SERVED_EVERY_MS * 1000000ull : UINT64_MAX);
                if (strcmp(order, SERVE_DATA) == 0)
                        note_data(s, body);
        }
        for (uint32_t i = 0; body && i < s->count; i++)
                if (s->clients[i]->state == CLIENT_WAITING &&
                    strcmp(s->clients[i]->order, order) == 0)
                        client_answer(s->clients[i], body);
        reply_leave(body);
        free(order);
}

/* ---- clients ---- */

static void remove_client(struct serve *s, uint32_t i)
{
        client_free(s->clients[i]);
        free(s->clients[i]);
        s->clients[i] = s->clients[--s->count];
}

/* Who sends nothing whole for longest makes room for the next. */
static bool drop_idlest(struct serve *s)
{
        uint32_t oldest = SERVE_CLIENTS_MAX;

        for (uint32_t i = 0; i < s->count; i++)
                if ((s->clients[i]->state == CLIENT_READING ||
                     s->clients[i]->state == CLIENT_LEAVING) &&
                    (oldest == SERVE_CLIENTS_MAX ||
                     s->clients[i]->since_ns < s->clients[oldest]->since_ns))
                        oldest = i;
        if (oldest == SERVE_CLIENTS_MAX)
                return false;
        remove_client(s, oldest);
        return true;
}

static void accept_client(struct serve *s)
{
        int fd = accept4(s->listen, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd < 0 && (errno == EMFILE || errno == ENFILE))
                drop_idlest(s); /* the next step takes who waits; poll() would not */
        if (fd < 0)
                return;
        if (s->count == SERVE_CLIENTS_MAX && !drop_idlest(s)) {
                close(fd);
                return;
        }
        s->clients[s->count] = heap_zero(1, sizeof **s->clients);
        client_init(s->clients[s->count++], fd);
}

static void attend(struct serve *s, struct client *c, short events)
{
        struct request r;
        bool whole = false;

        if (c->state == CLIENT_WAITING && events & (POLLRDHUP | POLLHUP | POLLERR))
                c->state = CLIENT_GONE;
        else if (c->state == CLIENT_WRITING && events)
                client_write(c);
        else if ((c->state == CLIENT_READING || c->state == CLIENT_LEAVING) && events)
                whole = client_read(c, &r);
        if (c->state <= CLIENT_LEAVING && clock_now_ns() >= c->deadline_ns)
                client_expire(c);
        for (whole = whole || client_next(c, &r); whole; whole = client_next(c, &r))
                answer(s, c, &r);
}

/* ---- the loop ---- */

static uint32_t fill(const struct serve *s, struct pollfd *out)
{
        out[SERVE_LISTEN] = (struct pollfd){ s->listen, POLLIN, 0 };
        out[SERVE_SIGNALS] = (struct pollfd){ s->signals, POLLIN, 0 };
        out[SERVE_PRODUCER] = (struct pollfd){ s->producer.order ? s->producer.worker.fd : -1,
                                               POLLIN, 0 };
        for (uint32_t i = 0; i < s->count; i++)
                out[SERVE_FIRST + i] = (struct pollfd){ s->clients[i]->fd,
                                                        client_events(s->clients[i]), 0 };
        return SERVE_FIRST + s->count;
}

/* Until the first deadline; -1 for ever. */
static int patience_ms(const struct serve *s)
{
        uint64_t first = UINT64_MAX, now_ns = clock_now_ns();

        for (uint32_t i = 0; i < s->count; i++)
                if (s->clients[i]->deadline_ns < first)
                        first = s->clients[i]->deadline_ns;
        return first == UINT64_MAX ? -1
               : first < now_ns    ? 0
                                   : (int)((first - now_ns) / 1000000u + 1);
}

/* The signal is taken, so that it does not come once more when we are done. */
static bool was_told_to_end(const struct serve *s)
{
        struct signalfd_siginfo told;

        return read(s->signals, &told, sizeof told) == (ssize_t)sizeof told;
}

static void step(struct serve *s)
{
        struct pollfd polled[SERVE_FIRST + SERVE_CLIENTS_MAX];
        uint32_t count = fill(s, polled);

        if (poll(polled, count, patience_ms(s)) < 0)
                return;
        s->stop = polled[SERVE_SIGNALS].revents && was_told_to_end(s);
        if (polled[SERVE_PRODUCER].revents)
                take_work(s);
        for (uint32_t i = SERVE_FIRST; i < count; i++)
                attend(s, s->clients[i - SERVE_FIRST], polled[i].revents);
        for (uint32_t i = s->count; i > 0; i--)
                if (s->clients[i - 1]->state == CLIENT_GONE)
                        remove_client(s, i - 1);
        if (polled[SERVE_LISTEN].revents)
                accept_client(s);
        start_work(s);
}

/* ---- begin and end ---- */

static bool make_token(struct serve *s, struct err *e)
{
        unsigned char random[SERVE_TOKEN_BYTES];

        if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
                return err_sys(e, ERR_EXIT_CANNOT_TRACE,
                               "cannot get random numbers for the address of the page");
        for (size_t i = 0; i < sizeof random; i++)
                snprintf(s->token + 2 * i, 3, "%02x", random[i]);
        return true;
}

static bool open_port(struct serve *s, struct err *e)
{
        struct sockaddr_in address = { .sin_family = AF_INET,
                                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t length = sizeof address;

        s->listen = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (s->listen < 0 || bind(s->listen, (struct sockaddr *)&address, length) < 0 ||
            listen(s->listen, SOMAXCONN) < 0 ||
            getsockname(s->listen, (struct sockaddr *)&address, &length) < 0)
                return err_sys(e, ERR_EXIT_CANNOT_TRACE, "cannot listen on 127.0.0.1");
        s->port = ntohs(address.sin_port);
        return true;
}

static bool take_signals(struct serve *s, struct err *e)
{
        sigset_t wanted;

        sigemptyset(&wanted);
        sigaddset(&wanted, SIGINT);
        sigaddset(&wanted, SIGTERM);
        sigaddset(&wanted, SIGHUP);
        s->signals = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
        if (s->signals < 0)
                return err_sys(e, ERR_EXIT_CANNOT_TRACE, "the page cannot be served");
        sigprocmask(SIG_BLOCK, &wanted, &s->mask_before);
        return true;
}

/* What is there before anybody asks: all names are looked up then, and later processes have
 * them. */
static bool make_first(struct serve *s, struct err *e)
{
        struct str out = { 0 };
        struct reply_body *body;

        if (!served_data(&s->served, (struct request_text){ 0 }, &out, e)) {
                str_free(&out);
                return false;
        }
        body = reply_body(REPLY_OK, REPLY_DATA, &out);
        recent_put(&s->recent, SERVE_DATA, body,
                   s->served.live ? clock_now_ns() + SERVED_EVERY_MS * 1000000ull : UINT64_MAX);
        note_data(s, body);
        reply_leave(body);
        return true;
}

static void announce(const struct serve *s, const struct serve_request *r)
{
        char url[sizeof s->token + 64];

        snprintf(url, sizeof url, "http://127.0.0.1:%u/%s/", s->port, s->token);
        r->announce(r->context, url);
}

static void close_all(struct serve *s)
{
        while (s->count)
                remove_client(s, s->count - 1);
        producer_close(&s->producer);
        reply_leave(s->data);
        reply_leave(s->page);
        recent_free(&s->recent);
        served_close(&s->served);
        if (s->listen >= 0)
                close(s->listen);
        if (s->signals < 0)
                return;
        close(s->signals);
        sigprocmask(SIG_SETMASK, &s->mask_before, NULL);
}

/* In the producer: connections end when we end them. */
static void leave(void *context)
{
        struct serve *s = context;

        for (uint32_t i = 0; i < s->count; i++)
                close(s->clients[i]->fd);
        close(s->listen);
        close(s->signals);
}

bool serve_run(const struct serve_request *r, struct err *e)
{
        struct serve s = { .listen = -1, .signals = -1 };
        /* As the producer knows it: nobody is told how far it is. */
        struct serve_request later = *r;
        bool good = served_open(&s.served, r, e);

        producer_init(&s.producer, &s.served, leave, &s);
        good = good && make_first(&s, e) && make_token(&s, e) && open_port(&s, e) &&
               take_signals(&s, e);
        if (good) {
                later.progress = NULL;
                s.served.request = &later;
                announce(&s, r);
        }
        while (good && !s.stop)
                step(&s);
        close_all(&s);
        return good;
}
