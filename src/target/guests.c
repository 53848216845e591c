/* SPDX-License-Identifier: MIT */
/*
 * guests.c -- connections to seep-target that have not said yet who they are.
 *
 * Keeps:  a guest costs a place of fixed size, and holds up nobody: there are GUESTS_MOST, and the
 *         oldest makes room for one more; where many come from one address, the oldest of these. A
 *         guest that proves to know the token becomes the host, or is given to a reader.
 */
#include "target/target.h"

#include <stdio.h>

#define MESSAGE_MOST 4096u
#define FROM_ONE_ADDRESS 8u

static struct guest guests[GUESTS_MOST];
static uint64_t orders;

void guest_text(char *to, uint32_t room, const char *text)
{
        uint32_t i = 0;

        for (; text[i] && i + 1 < room; i++)
                to[i] = text[i];
        to[i] = 0;
}

static uint16_t own_machine(void)
{
        uint8_t head[20] = { 0 };
        long fd = sys_open("/proc/self/exe");
        uint16_t machine = 0;

        if (fd >= 0) {
                sys_read(fd, head, sizeof head);
                sys_close(fd);
        }
        memcpy(&machine, head + 18, 2);
        return machine;
}

static void refuse(long fd, const char *text)
{
        static uint8_t room[MESSAGE_MOST];
        struct protocol_message m = { .type = PROTOCOL_FAULT_TYPE, .fault = { .code = 3 } };
        struct str to = { .data = (char *)room, .room = sizeof room };

        guest_text(m.fault.text, sizeof m.fault.text, text);
        protocol_write(&m, &to);
        sys_call6(SYS_sendto, fd, (long)room, (long)to.length, KERNEL_NOSIGNAL | KERNEL_DONTWAIT, 0,
                  0);
        sys_close(fd);
}

static void settle(long fd)
{
        static const int32_t options[][3] = { { 1, 9, 1 }, { 6, 1, 1 }, { 6, 4, 10 }, { 6, 5, 5 },
                                              { 6, 6, 3 }, { 6, 18, TARGET_PATIENCE_MS } };

        for (uint32_t i = 0; i < sizeof options / sizeof *options; i++)
                sys_call6(SYS_setsockopt, fd, options[i][0], options[i][1], (long)&options[i][2],
                          4, 0);
}

#define ONE_AT_A_TIME \
        "a host is connected already: this target sends its events to one at a time"


/* ---- coming and going ---- */

static void dismiss(struct guest *g, const char *why)
{
        sys_close(g->fd);
        g->used_place = false;
        if (why)
                say_more("a host was not welcome: ", why, "");
}

void target_forget(const struct guest *but)
{
        sys_close(target.host.fd);
        sys_close(target.listener);
        sys_close(target.hellos);
        if (target.agents >= 0)
                sys_close(target.agents);
        for (uint32_t i = 0; i < GUESTS_MOST; i++)
                if (guests[i].used_place && &guests[i] != but)
                        sys_close(guests[i].fd);
}

/* Where FD comes from: numbers that differ for other machines. */
static uint64_t address_of(long fd)
{
        struct kernel_inet peer = { 0 };
        uint32_t size = sizeof peer;
        uint64_t parts[2] = { 0, 0 };

        if (sys_call3(SYS_getpeername, fd, (long)&peer, (long)&size) != 0)
                return 0;
        memcpy(parts, peer.rest, peer.family == KERNEL_V4 ? 4 : peer.family == KERNEL_V6 ? 16 : 0);
        if (peer.family == KERNEL_V6)
                memcpy(parts, peer.rest + 4, 16);
        return parts[0] * 0x9e3779b97f4a7c15ull ^ parts[1];
}

/* A free place, or that of the guest that has to go. */
static struct guest *place_for(uint64_t address)
{
        struct guest *free = NULL, *oldest = NULL, *same = NULL;
        uint32_t alike = 0;

        for (uint32_t i = 0; i < GUESTS_MOST; i++) {
                struct guest *g = &guests[i];

                if (!g->used_place) {
                        free = g;
                        continue;
                }
                oldest = !oldest || g->order < oldest->order ? g : oldest;
                if (g->address != address)
                        continue;
                alike++;
                same = !same || g->order < same->order ? g : same;
        }
        if (alike < FROM_ONE_ADDRESS && free)
                return free;
        free = alike >= FROM_ONE_ADDRESS ? same : oldest;
        dismiss(free, NULL);
        return free;
}

static bool greet(struct guest *g)
{
        static uint8_t room[MESSAGE_MOST];
        struct protocol_message m = { .type = PROTOCOL_GREETING_TYPE };
        struct str to = { .data = (char *)room, .room = sizeof room };
        const uint16_t one = 1;

        if (sys_call3(SYS_getrandom, (long)g->nonce, sizeof g->nonce, 0) != (long)sizeof g->nonce)
                return false;
        memcpy(m.greeting.magic, PROTOCOL_MAGIC, sizeof m.greeting.magic);
        m.greeting.version = PROTOCOL_VERSION;
        m.greeting.order = *(const uint8_t *)&one ? 1 : 2;
        m.greeting.word = sizeof(void *);
        m.greeting.machine = own_machine();
        m.greeting.flags = PROTOCOL_LIGHT | (target.token.length ? PROTOCOL_TOKEN_NEEDED : 0);
        guest_text(m.greeting.tool, sizeof m.greeting.tool, "seep-target " SEEP_VERSION);
        memcpy(m.greeting.nonce, g->nonce, sizeof g->nonce);
        protocol_write(&m, &to);
        return sys_call6(SYS_sendto, g->fd, (long)room, (long)to.length,
                         KERNEL_NOSIGNAL | KERNEL_DONTWAIT, 0, 0) == (long)to.length;
}

void guests_arrive(void)
{
        long fd = sys_call6(SYS_accept4, target.listener, 0, 0, SYS_O_CLOEXEC | SYS_O_NONBLOCK, 0,
                            0);
        struct guest *g;

        if (fd < 0)
                return;
        if (!target.token.length && !listen_is_own(fd)) {
                refuse(fd, "it belongs to another user, and there is no --token-file");
                return;
        }
        settle(fd);
        g = place_for(address_of(fd));
        g->used_place = true;
        g->fd = fd;
        g->used = 0;
        g->address = address_of(fd);
        g->since_ms = kernel_now_ms();
        g->order = ++orders;
        if (!greet(g))
                dismiss(g, "it cannot be greeted");
}

/* ---- who it is ---- */

static void prove(const struct guest *g, const char *who, const uint8_t *theirs, uint8_t *out)
{
        uint8_t text[16 + 2 * PROTOCOL_NONCE_BYTES] = { 0 };

        memset(out, 0, PROOF_BYTES);
        if (!target.token.length)
                return;
        memcpy(text, who, strlen(who));
        memcpy(text + 16, g->nonce, PROTOCOL_NONCE_BYTES);
        memcpy(text + 16 + PROTOCOL_NONCE_BYTES, theirs, PROTOCOL_NONCE_BYTES);
        proof_make(&target.token, text, sizeof text, out);
}

static void send_away(struct guest *g, const char *text, const char *said)
{
        g->used_place = false;
        refuse(g->fd, text);
        if (said)
                say_more("a host was not welcome: ", said, "");
}

static void welcome(struct guest *g, const struct protocol_hello *h)
{
        struct protocol_message m = { .type = PROTOCOL_WELCOME_TYPE };
        bool reads = h->flags & PROTOCOL_HELLO_READER;
        char names[6][65] = { { 0 } };
        uint8_t proof[PROOF_BYTES];

        prove(g, "seep host", h->nonce, proof);
        if (target.token.length && !proof_is_equal(proof, h->proof)) {
                send_away(g, "the token is wrong, or none was given (--token-file FILE)",
                          "the token is wrong");
                return;
        }
        prove(g, "seep target", h->nonce, m.welcome.proof);
        m.welcome.pid = sys_pid();
        sys_call3(SYS_uname, (long)names, 0, 0);
        names[1][64] = 0;
        guest_text(m.welcome.host, sizeof m.welcome.host, names[1]);
        if (reads ? target.host.stage != HOST_STREAMS || !reader_start(g, &m)
                  : target.host.stage != HOST_NONE) {
                send_away(g, ONE_AT_A_TIME, NULL);
                return;
        }
        g->used_place = false;
        if (!reads)
                host_becomes(g, &m);
}

static void refuse_version(struct guest *g, uint32_t version)
{
        char text[192];

        snprintf(text, sizeof text,
                 "the host speaks version %u of the protocol, this seep-target (" SEEP_VERSION
                 ") version %u: install the same release on both sides",
                 version, PROTOCOL_VERSION);
        send_away(g, text, text);
}

/* All of its first message is there. */
static void take(struct guest *g, uint32_t length, uint32_t type)
{
        const uint8_t *body = g->in + PROTOCOL_HEAD_BYTES;
        struct protocol_message m;
        uint32_t version;

        if (type != PROTOCOL_HELLO_TYPE || !protocol_read_version(body, length, &version)) {
                dismiss(g, "it does not speak the protocol of seep");
        } else if (version != PROTOCOL_VERSION) {
                refuse_version(g, version);
        } else if (!protocol_read(&m, type, body, length)) {
                dismiss(g, "it sent a message that is not well formed");
        } else {
                g->used -= PROTOCOL_HEAD_BYTES + length;
                memmove(g->in, g->in + PROTOCOL_HEAD_BYTES + length, g->used);
                welcome(g, &m.hello);
        }
}

static void hear(struct guest *g)
{
        long got = sys_call6(SYS_recvfrom, g->fd, (long)(g->in + g->used),
                             (long)(sizeof g->in - g->used), KERNEL_DONTWAIT, 0, 0);
        uint32_t length, type;

        if (got == -SYS_EAGAIN || got == -SYS_EINTR)
                return;
        if (got <= 0) {
                dismiss(g, NULL);
                return;
        }
        g->used += (uint32_t)got;
        if (g->used < PROTOCOL_HEAD_BYTES)
                return;
        if (!protocol_read_head(g->in, &length, &type) ||
            length > sizeof g->in - PROTOCOL_HEAD_BYTES)
                dismiss(g, "it does not speak the protocol of seep");
        else if (g->used >= PROTOCOL_HEAD_BYTES + length)
                take(g, length, type);
}

void guests_poll(struct kernel_poll *out)
{
        for (uint32_t i = 0; i < GUESTS_MOST; i++)
                out[i] = (struct kernel_poll){ guests[i].used_place ? (int32_t)guests[i].fd : -1,
                                               KERNEL_IN, 0 };
}

void guests_look(const struct kernel_poll *polled)
{
        for (uint32_t i = 0; i < GUESTS_MOST; i++) {
                struct guest *g = &guests[i];

                if (g->used_place && polled[i].revents)
                        hear(g);
                if (g->used_place && kernel_now_ms() - g->since_ms > TARGET_GREETING_MS)
                        dismiss(g, "it said nothing");
        }
}
