/* SPDX-License-Identifier: MIT */
#include "journal/receive.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/heap.h"

#define BUFFER_BYTES (JOURNAL_HEAD + JOURNAL_BODY_MAX)
#define TICK_MS 100
#define QUIET_NS 30000000000ull /* a connection that says nothing at all */
#define LATE_NS 500000000ull    /* datagrams that come after the last one */
#define DATAGRAMS_AT_ONCE 256
#define RECEIVE_BUFFER (16 << 20)

/* One process elsewhere. */
struct peer {
        int fd; /* of a connection; -1: datagrams */
        bool used;
        struct sockaddr_storage from; /* of datagrams */
        uint32_t pid, stream;
        uint64_t heard_ns, over_ns; /* over: when its end was told; 0 not yet */
        struct incoming *in; /* NULL: nothing came yet */
        uint8_t *buffer;
        uint32_t filled;
};

struct receive {
        struct receive_wishes wishes;
        int listener, datagrams; /* -1 none */
        bool open;
        char where[128];
        struct peer peers[RECEIVE_MAX];
        uint32_t finished;
        uint64_t refused;
};

/* ---- addresses ---- */

static bool is_loopback(const struct sockaddr *a)
{
        static const struct in6_addr six = IN6ADDR_LOOPBACK_INIT;

        if (a->sa_family == AF_INET)
                return (ntohl(((const struct sockaddr_in *)a)->sin_addr.s_addr) >> 24) == 127;
        return memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr, &six, sizeof six) == 0;
}

/* HOST[:PORT] or [HOST]:PORT taken apart, in TEXT itself. */
static const char *split(char *text, const char **host)
{
        char *end = *text == '[' ? strchr(text, ']') : NULL, *colon;

        *host = end ? text + 1 : text;
        if (end)
                *end++ = 0;
        colon = end ? (*end == ':' ? end : NULL) : strrchr(text, ':');
        if (!colon)
                return NULL;
        *colon = 0;
        return colon + 1;
}

static int socket_on(const struct addrinfo *a)
{
        int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1,
            room = RECEIVE_BUFFER;

        if (fd < 0)
                return -1;
        if (a->ai_socktype == SOCK_STREAM) {
                setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        } else if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room) != 0) {
                setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
        }
        if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 &&
            (a->ai_socktype == SOCK_DGRAM || listen(fd, 128) == 0))
                return fd;
        close(fd);
        return -1;
}

/* The port that a socket has, for whoever asked for any. */
static unsigned port_of(int fd)
{
        struct sockaddr_storage a = { 0 };
        socklen_t size = sizeof a;

        getsockname(fd, (struct sockaddr *)&a, &size);
        return ntohs(a.ss_family == AF_INET ? ((struct sockaddr_in *)&a)->sin_port
                                            : ((struct sockaddr_in6 *)&a)->sin6_port);
}

static void set_port(struct sockaddr *a, unsigned port)
{
        if (a->sa_family == AF_INET)
                ((struct sockaddr_in *)a)->sin_port = htons((uint16_t)port);
        else
                ((struct sockaddr_in6 *)a)->sin6_port = htons((uint16_t)port);
}

static bool listen_on(struct receive *r, struct addrinfo *a, bool tcp, bool udp)
{
        bool good = true;

        if (tcp) {
                a->ai_socktype = SOCK_STREAM;
                r->listener = socket_on(a);
                good = r->listener >= 0;
        }
        if (good && udp) {
                if (tcp)
                        set_port(a->ai_addr, port_of(r->listener));
                a->ai_socktype = SOCK_DGRAM;
                r->datagrams = socket_on(a);
                good = r->datagrams >= 0;
        }
        r->open = !is_loopback(a->ai_addr);
        return good;
}

static bool listen_at(struct receive *r, const char *address, struct err *e)
{
        bool tcp = strncmp(address, "udp:", 4) != 0, udp = strncmp(address, "tcp:", 4) != 0;
        char *text = heap_text(address + (tcp && udp ? 0 : 4)), port_text[16];
        const char *host, *port = split(text, &host);
        struct addrinfo hints = { .ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM };
        struct addrinfo *found = NULL;
        bool good;
        int error;

        snprintf(port_text, sizeof port_text, "%u", RECEIVE_PORT);
        error = getaddrinfo(*host ? host : "127.0.0.1", port ? port : port_text, &hints, &found);
        good = !error && listen_on(r, found, tcp, udp);
        if (error)
                err_set(e, ERR_EXIT_USAGE,
                        "'%s' is no address to receive at (%s): [tcp:|udp:]HOST[:PORT] is one",
                        address, gai_strerror(error));
        else if (!good)
                err_sys(e, ERR_EXIT_CANNOT_TRACE, "cannot receive at %s", address);
        else
                snprintf(r->where, sizeof r->where, "%s%s port %u",
                         tcp && udp ? "" : tcp ? "tcp " : "udp ", *host ? host : "127.0.0.1",
                         port_of(r->listener >= 0 ? r->listener : r->datagrams));
        if (found)
                freeaddrinfo(found);
        free(text);
        return good;
}

struct receive *receive_open(const struct receive_wishes *w, struct err *e)
{
        struct receive *r = heap_zero(1, sizeof *r);

        r->wishes = *w;
        r->listener = r->datagrams = -1;
        if (listen_at(r, w->address, e))
                return r;
        receive_close(r);
        return NULL;
}

const char *receive_where(const struct receive *r)
{
        return r->where;
}

bool receive_is_open(const struct receive *r)
{
        return r->open;
}

/* ---- peers ---- */

static void end_peer(struct receive *r, struct peer *p)
{
        if (p->fd >= 0)
                close(p->fd);
        if (p->in) {
                r->wishes.done(r->wishes.context, p->in);
                incoming_free(p->in);
                r->finished++;
        }
        free(p->buffer);
        *p = (struct peer){ .fd = -1 };
}

static struct peer *free_peer(struct receive *r)
{
        for (uint32_t i = 0; i < RECEIVE_MAX; i++)
                if (!r->peers[i].used) {
                        r->peers[i] = (struct peer){ .fd = -1, .used = true,
                                                     .heard_ns = clock_now_ns() };
                        return &r->peers[i];
                }
        return NULL;
}

/* A packet of P.  False: no ledger can be made for it. */
static bool take(struct receive *r, struct peer *p, const struct incoming_head *h,
                 const uint8_t *body)
{
        struct err e;

        if (!p->in)
                p->in = incoming_new(&e);
        if (!p->in) {
                r->wishes.say(r->wishes.context, e.text);
                return false;
        }
        incoming_packet(p->in, h, body);
        p->heard_ns = clock_now_ns();
        p->over_ns = incoming_is_over(p->in) ? p->heard_ns : 0;
        return true;
}

/* ---- connections ---- */

/* A program that says nothing may have nothing to say; that its machine or the link is down is
 * noticed all the same. */
static void watch(int fd)
{
        int yes = 1, idle_s = 10, every_s = 5, times = 3;

        setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
        setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
        setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof every_s);
        setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
}

static void accept_all(struct receive *r)
{
        int fd;

        while ((fd = accept4(r->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
                struct peer *p = free_peer(r);

                if (!p) {
                        close(fd);
                        r->refused++;
                        continue;
                }
                watch(fd);
                p->fd = fd;
                p->buffer = heap_zero(BUFFER_BYTES, 1);
        }
}

/* The packets in the buffer of P that are whole.  False: what is there is none. */
static bool take_packets(struct receive *r, struct peer *p)
{
        uint32_t at = 0;

        while (p->filled - at >= JOURNAL_HEAD) {
                struct incoming_head h;
                struct err e = { 0 };

                if (!incoming_head(p->buffer + at, &h, &e)) {
                        r->wishes.say(r->wishes.context, e.text);
                        return false;
                }
                if (p->filled - at - JOURNAL_HEAD < h.bytes)
                        break;
                if (!take(r, p, &h, p->buffer + at + JOURNAL_HEAD))
                        return false;
                at += JOURNAL_HEAD + h.bytes;
        }
        memmove(p->buffer, p->buffer + at, p->filled - at);
        p->filled -= at;
        return true;
}

static void read_peer(struct receive *r, struct peer *p)
{
        for (int i = 0; i < 64; i++) { /* then it is another one's turn */
                ssize_t got = recv(p->fd, p->buffer + p->filled, BUFFER_BYTES - p->filled, 0);

                if (got < 0 && (errno == EAGAIN || errno == EINTR))
                        return;
                if (got <= 0 || (p->filled += (uint32_t)got, !take_packets(r, p))) {
                        end_peer(r, p);
                        return;
                }
        }
}

/* ---- datagrams ---- */

static struct peer *peer_of(struct receive *r, const struct sockaddr_storage *from,
                            const struct incoming_head *h)
{
        for (uint32_t i = 0; i < RECEIVE_MAX; i++) {
                struct peer *p = &r->peers[i];

                if (p->used && p->fd < 0 && p->pid == h->pid && p->stream == h->stream &&
                    memcmp(&p->from, from, sizeof *from) == 0)
                        return p;
        }
        return NULL;
}

static void take_datagram(struct receive *r, const struct sockaddr_storage *from,
                          const uint8_t *bytes, size_t count)
{
        struct incoming_head h;
        struct peer *p;
        struct err e;

        if (count < JOURNAL_HEAD || !incoming_head(bytes, &h, &e) ||
            count - JOURNAL_HEAD != h.bytes)
                return; /* anybody may send anything */
        p = peer_of(r, from, &h);
        if (!p && (p = free_peer(r))) {
                p->from = *from;
                p->pid = h.pid;
                p->stream = h.stream;
        }
        r->refused += !p;
        if (p)
                take(r, p, &h, bytes + JOURNAL_HEAD);
}

static void read_datagrams(struct receive *r)
{
        uint8_t bytes[JOURNAL_HEAD + JOURNAL_BODY_MAX];

        for (int i = 0; i < DATAGRAMS_AT_ONCE; i++) {
                struct sockaddr_storage from = { 0 };
                socklen_t size = sizeof from;
                ssize_t got = recvfrom(r->datagrams, bytes, sizeof bytes, 0,
                                       (struct sockaddr *)&from, &size);

                if (got < 0)
                        return;
                take_datagram(r, &from, bytes, (size_t)got);
        }
}

/* ---- the loop ---- */

static void look_around(struct receive *r)
{
        uint64_t now = clock_now_ns();

        for (uint32_t i = 0; i < RECEIVE_MAX; i++) {
                struct peer *p = &r->peers[i];

                if (p->used && p->fd < 0 && p->in && !p->over_ns && now - p->heard_ns > LATE_NS) {
                        incoming_give_up(p->in);
                        p->over_ns = incoming_is_over(p->in) ? now : 0;
                }
                if (p->used && ((p->fd < 0 && p->over_ns && now - p->over_ns > LATE_NS) ||
                                (p->fd >= 0 && !p->in && now - p->heard_ns > QUIET_NS)))
                        end_peer(r, p);
        }
}

static void wait_and_read(struct receive *r)
{
        struct pollfd polled[RECEIVE_MAX + 2] = { { r->listener, POLLIN, 0 },
                                                  { r->datagrams, POLLIN, 0 } };

        for (uint32_t i = 0; i < RECEIVE_MAX; i++)
                polled[i + 2] = (struct pollfd){ r->peers[i].used ? r->peers[i].fd : -1, POLLIN,
                                                 0 };
        if (poll(polled, RECEIVE_MAX + 2, TICK_MS) <= 0)
                return;
        for (uint32_t i = 0; i < RECEIVE_MAX; i++)
                if (polled[i + 2].revents)
                        read_peer(r, &r->peers[i]);
        if (polled[1].revents)
                read_datagrams(r);
        if (polled[0].revents)
                accept_all(r);
}

static bool has_peers(const struct receive *r)
{
        for (uint32_t i = 0; i < RECEIVE_MAX; i++)
                if (r->peers[i].used)
                        return true;
        return false;
}

void receive_run(struct receive *r, volatile sig_atomic_t *leave, bool once)
{
        char text[128];

        for (uint32_t i = 0; i < RECEIVE_MAX; i++)
                r->peers[i].fd = -1;
        while (!*leave && !(once && r->finished && !has_peers(r))) {
                wait_and_read(r);
                look_around(r);
        }
        for (uint32_t i = 0; i < RECEIVE_MAX; i++)
                if (r->peers[i].used)
                        end_peer(r, &r->peers[i]);
        if (r->refused) {
                snprintf(text, sizeof text,
                         "%llu connections or datagrams were refused: %u journals at a time are "
                         "the most", (unsigned long long)r->refused, RECEIVE_MAX);
                r->wishes.say(r->wishes.context, text);
        }
}

void receive_close(struct receive *r)
{
        if (r->listener >= 0)
                close(r->listener);
        if (r->datagrams >= 0)
                close(r->datagrams);
        free(r);
}
