/* SPDX-License-Identifier: MIT */
#include "remote/channel.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/plain.h"

void channel_init(struct channel *c, int in, int out, const char *peer)
{
        c->in = in;
        c->out = out;
        c->length = c->type = c->hello_flags = 0;
        snprintf(c->peer, sizeof c->peer, "%s", peer);
        fcntl(in, F_SETFL, fcntl(in, F_GETFL) | O_NONBLOCK);
        fcntl(out, F_SETFL, fcntl(out, F_GETFL) | O_NONBLOCK);
}

int channel_poll(const struct channel *c, int ms)
{
        struct pollfd p = { .fd = c->in, .events = POLLIN };

        return poll(&p, 1, ms);
}

/* Until FD is ready for EVENTS; false: not before END_NS. */
static bool wait_ready(int fd, short events, uint64_t end_ns)
{
        for (;;) {
                struct pollfd p = { .fd = fd, .events = events };
                uint64_t now = clock_now_ns();
                int ready = now < end_ns ? poll(&p, 1, (int)((end_ns - now) / 1000000u) + 1) : 0;

                if (ready > 0)
                        return true;
                if (ready == 0 && clock_now_ns() >= end_ns) {
                        errno = ETIMEDOUT;
                        return false;
                }
                if (ready < 0 && errno != EINTR)
                        return false;
        }
}

/* Pipes have no flags for sending; whoever has one ignores SIGPIPE. */
static ssize_t put(int fd, const char *bytes, size_t count)
{
        ssize_t sent = send(fd, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);

        return sent < 0 && errno == ENOTSOCK ? write(fd, bytes, count) : sent;
}

/* Each piece has its deadline, so that a slow link gets there and a dead one does not. */
static bool send_all(struct channel *c, const char *bytes, size_t count, struct err *e)
{
        while (count) {
                ssize_t sent = put(c->out, bytes, count);

                if (sent < 0 && errno == EINTR)
                        continue;
                if (sent < 0 && (errno != EAGAIN ||
                                 !wait_ready(c->out, POLLOUT,
                                             clock_now_ns() + CHANNEL_PATIENCE_MS * 1000000ull)))
                        return err_sys(e, ERR_EXIT_CANNOT_TRACE, "the connection to %s is lost",
                                       c->peer);
                if (sent > 0) {
                        bytes += sent;
                        count -= (size_t)sent;
                }
        }
        return true;
}

bool channel_send(struct channel *c, const struct protocol_message *m, struct err *e)
{
        struct str bytes = { 0 };
        bool good;

        protocol_write(m, &bytes);
        good = send_all(c, bytes.data, bytes.length, e);
        str_free(&bytes);
        return good;
}

bool channel_send_bytes(struct channel *c, const void *bytes, uint32_t count, struct err *e)
{
        struct protocol_message head = { .type = PROTOCOL_CHUNK_TYPE };
        struct str out = { 0 };
        bool good;

        protocol_write(&head, &out);
        for (int i = 0; i < 4; i++)
                out.data[i] = (char)(count >> 8 * i);
        str_bytes(&out, bytes, count);
        good = send_all(c, out.data, out.length, e);
        str_free(&out);
        return good;
}

static bool read_all(struct channel *c, uint8_t *to, size_t count, uint64_t end_ns, struct err *e)
{
        while (count) {
                ssize_t got = read(c->in, to, count);

                if (got == 0)
                        return err_set(e, ERR_EXIT_CANNOT_TRACE, "%s has closed the connection",
                                       c->peer);
                if (got < 0 && errno == EINTR)
                        continue;
                if (got < 0 && (errno != EAGAIN || !wait_ready(c->in, POLLIN, end_ns)))
                        return errno == ETIMEDOUT
                                       ? err_set(e, ERR_EXIT_CANNOT_TRACE,
                                                 "%s does not answer: the link is down, or this is "
                                                 "no 'seep serve'", c->peer)
                                       : err_sys(e, ERR_EXIT_CANNOT_TRACE,
                                                 "the connection to %s is lost", c->peer);
                if (got > 0) {
                        to += got;
                        count -= (size_t)got;
                }
        }
        return true;
}

static bool receive_raw(struct channel *c, uint32_t patience_ms, struct err *e)
{
        uint64_t end_ns = clock_now_ns() + patience_ms * 1000000ull;
        uint8_t head[PROTOCOL_HEAD_BYTES];

        if (!read_all(c, head, sizeof head, end_ns, e))
                return false;
        if (!protocol_read_head(head, &c->length, &c->type))
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "%s does not speak the protocol of seep", c->peer);
        return read_all(c, c->body, c->length, end_ns, e);
}

static bool take(struct channel *c, struct protocol_message *m, struct err *e)
{
        if (c->type == PROTOCOL_CHUNK_TYPE || c->type == PROTOCOL_JOURNAL_TYPE) {
                m->type = (enum protocol_type)c->type;
                return true;
        }
        return protocol_read(m, c->type, c->body, c->length) ||
               err_set(e, ERR_EXIT_CANNOT_TRACE, "%s sent a message that is not well formed",
                       c->peer);
}

bool channel_receive(struct channel *c, struct protocol_message *m, uint32_t patience_ms,
                     struct err *e)
{
        return receive_raw(c, patience_ms, e) && take(c, m, e);
}

/* What the other side says may be meant for our terminal. */
static bool pass_on(struct channel *c, struct protocol_message *m, struct err *e)
{
        plain_name(m->fault.text);
        return err_set(e, (int)(m->fault.code & 0x7f), "%s: %s", c->peer, m->fault.text);
}

/* Receive a message of the type WANTED; a fault that the other side reports is the error. */
static bool channel_expect(struct channel *c, struct protocol_message *m,
                           enum protocol_type wanted, struct err *e)
{
        if (!channel_receive(c, m, CHANNEL_PATIENCE_MS, e))
                return false;
        if (m->type == PROTOCOL_FAULT_TYPE)
                return pass_on(c, m, e);
        return m->type == wanted ||
               err_set(e, ERR_EXIT_CANNOT_TRACE, "%s sent message %u where %u was expected",
                       c->peer, (unsigned)m->type, (unsigned)wanted);
}

void channel_refuse(struct channel *c, const struct err *why)
{
        struct protocol_message m = { .type = PROTOCOL_FAULT_TYPE };
        struct err unused;

        m.fault.code = (uint32_t)why->exit_code;
        snprintf(m.fault.text, sizeof m.fault.text, "%.*s", (int)sizeof m.fault.text - 1,
                 why->text);
        channel_send(c, &m, &unused);
}

/* ---- how both sides begin ---- */

/* First of each side, whatever its version. */
static bool check_version(struct channel *c, enum protocol_type wanted, struct err *e)
{
        uint32_t version;

        if (c->type != (uint32_t)wanted || !protocol_read_version(c->body, c->length, &version))
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "%s does not speak the protocol of seep", c->peer);
        return version == PROTOCOL_VERSION ||
               err_set(e, ERR_EXIT_CANNOT_TRACE,
                       "%s speaks version %u of the protocol, this seep (%s) version %u: install "
                       "the same release on both sides", c->peer, version, SEEP_VERSION,
                       PROTOCOL_VERSION);
}

static bool make_nonce(uint8_t *out, struct err *e)
{
        return getrandom(out, PROTOCOL_NONCE_BYTES, 0) == PROTOCOL_NONCE_BYTES ||
               err_sys(e, ERR_EXIT_CANNOT_TRACE, "no random numbers");
}

/* Different words for each direction: a proof cannot be sent back as the other's. */
static void prove(const struct proof_token *t, const char *who, const uint8_t *target,
                  const uint8_t *host, uint8_t *out)
{
        uint8_t text[16 + 2 * PROTOCOL_NONCE_BYTES] = { 0 };

        if (!t->length) {
                memset(out, 0, PROOF_BYTES);
                return;
        }
        memcpy(text, who, strlen(who));
        memcpy(text + 16, target, PROTOCOL_NONCE_BYTES);
        memcpy(text + 16 + PROTOCOL_NONCE_BYTES, host, PROTOCOL_NONCE_BYTES);
        proof_make(t, text, sizeof text, out);
}

/* The processor, by the head of our own file. */
static uint16_t own_machine(void)
{
        Elf64_Ehdr head = { .e_machine = EM_NONE };
        int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

        if (fd >= 0) {
                io_read_at(fd, &head, offsetof(Elf64_Ehdr, e_version), 0);
                close(fd);
        }
        return head.e_machine;
}

bool channel_greet(struct channel *c, const struct proof_token *t, struct err *e)
{
        struct protocol_message m = { .type = PROTOCOL_GREETING_TYPE };
        uint8_t nonce[PROTOCOL_NONCE_BYTES], proof[PROOF_BYTES];
        const uint16_t one = 1;

        memcpy(m.greeting.magic, PROTOCOL_MAGIC, sizeof m.greeting.magic);
        m.greeting.version = PROTOCOL_VERSION;
        m.greeting.order = *(const uint8_t *)&one ? 1 : 2;
        m.greeting.word = sizeof(void *);
        m.greeting.machine = own_machine();
        m.greeting.flags = t->length ? PROTOCOL_TOKEN_NEEDED : 0;
        snprintf(m.greeting.tool, sizeof m.greeting.tool, "seep %s", SEEP_VERSION);
        if (!make_nonce(nonce, e))
                return false;
        memcpy(m.greeting.nonce, nonce, sizeof nonce);
        if (!channel_send(c, &m, e) || !receive_raw(c, CHANNEL_GREETING_MS, e) ||
            !check_version(c, PROTOCOL_HELLO_TYPE, e) || !take(c, &m, e))
                return false;
        prove(t, "seep host", nonce, m.hello.nonce, proof);
        if (t->length && !proof_is_equal(proof, m.hello.proof))
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "the token is wrong, or none was given (--token-file FILE)");
        prove(t, "seep target", nonce, m.hello.nonce, proof);
        m = (struct protocol_message){ .type = PROTOCOL_WELCOME_TYPE };
        memcpy(m.welcome.proof, proof, sizeof proof);
        m.welcome.pid = (uint32_t)getpid();
        gethostname(m.welcome.host, sizeof m.welcome.host - 1);
        return channel_send(c, &m, e);
}

bool channel_hello(struct channel *c, const struct proof_token *t,
                   struct protocol_greeting *greeting, struct err *e)
{
        struct protocol_message m;
        uint8_t nonce[PROTOCOL_NONCE_BYTES], proof[PROOF_BYTES];
        bool known = false;

        if (!receive_raw(c, CHANNEL_GREETING_MS, e))
                return false;
        if (c->type == PROTOCOL_FAULT_TYPE && take(c, &m, e)) /* it has no time for us */
                return pass_on(c, &m, e);
        known = check_version(c, PROTOCOL_GREETING_TYPE, e);
        if (known && !take(c, &m, e))
                return false;
        if (known)
                *greeting = m.greeting;
        if (known && (greeting->flags & PROTOCOL_TOKEN_NEEDED) && !t->length)
                return err_set(e, ERR_EXIT_CANNOT_TRACE, "%s wants a token: --token-file FILE",
                               c->peer);
        if (known && t->length && !(greeting->flags & PROTOCOL_TOKEN_NEEDED))
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "%s was started without a token, so it cannot show that it is the "
                               "one you mean: give 'seep serve' the same --token-file", c->peer);
        m = (struct protocol_message){ .type = PROTOCOL_HELLO_TYPE };
        memcpy(m.hello.magic, PROTOCOL_MAGIC, sizeof m.hello.magic);
        m.hello.version = PROTOCOL_VERSION;
        m.hello.flags = c->hello_flags;
        snprintf(m.hello.tool, sizeof m.hello.tool, "seep %s", SEEP_VERSION);
        if (!known) { /* so that it can say the same to its user */
                struct err unused;

                channel_send(c, &m, &unused);
                return false;
        }
        if (!make_nonce(nonce, e))
                return false;
        memcpy(m.hello.nonce, nonce, sizeof nonce);
        prove(t, "seep host", greeting->nonce, nonce, m.hello.proof);
        if (!channel_send(c, &m, e) || !channel_expect(c, &m, PROTOCOL_WELCOME_TYPE, e))
                return false;
        prove(t, "seep target", greeting->nonce, nonce, proof);
        return !t->length || proof_is_equal(proof, m.welcome.proof) ||
               err_set(e, ERR_EXIT_CANNOT_TRACE, "%s does not know the token", c->peer);
}
