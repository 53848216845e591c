/* SPDX-License-Identifier: MIT */
/*
 * host.c -- the host of seep-target: its requests, and an output buffer of fixed size
 * (docs/PROTOCOL.md).
 *
 * Keeps:  journals are put into the buffer only where there is room; answers wait for room, for
 *         TARGET_PATIENCE_MS at most.  A host that takes no journals for TARGET_TAKES_MS is gone.
 */
#include "target/target.h"

#include <stdio.h>

#define MESSAGE_MOST 4096u /* of all but packets and chunks */
#define PIECE (32u << 10)

static struct host *const host = &target.host;

/* ---- sending ---- */

static void compact(void)
{
        memmove(host->out, host->out + host->out_sent, host->out_used - host->out_sent);
        host->out_used -= host->out_sent;
        host->out_sent = 0;
}

bool host_has_room(uint32_t bytes)
{
        if (sizeof host->out - host->out_used < bytes + PROTOCOL_HEAD_BYTES + MESSAGE_MOST &&
            host->out_sent)
                compact();
        return sizeof host->out - host->out_used >= bytes + PROTOCOL_HEAD_BYTES + MESSAGE_MOST;
}

static uint32_t patience(void)
{
        return host->stage == HOST_STREAMS ? TARGET_TAKES_MS : TARGET_PATIENCE_MS;
}

void host_writes(void)
{
        while (host->stage && host->out_sent < host->out_used) {
                long sent = sys_call6(SYS_sendto, host->fd, (long)(host->out + host->out_sent),
                                      host->out_used - host->out_sent,
                                      KERNEL_NOSIGNAL | KERNEL_DONTWAIT, 0, 0);

                if (sent == -SYS_EINTR)
                        continue;
                if (sent == -SYS_EAGAIN) {
                        if (kernel_now_ms() - host->since_ms > patience())
                                host_leaves("it took nothing for too long");
                        return;
                }
                if (sent <= 0) {
                        host_leaves("the connection is lost");
                        return;
                }
                host->out_sent += (uint32_t)sent;
                host->since_ms = kernel_now_ms();
        }
        if (host->stage == HOST_STREAMS) /* of others it is known when they said something */
                host->since_ms = kernel_now_ms();
        if (host->out_sent == host->out_used)
                host->out_sent = host->out_used = 0;
}

/* Until there is room for an answer.  False: the host is gone. */
static bool await_room(uint32_t bytes)
{
        host->since_ms = kernel_now_ms();
        while (host->stage && !host_has_room(bytes)) {
                struct kernel_poll p = { (int32_t)host->fd, KERNEL_OUT, 0 };

                kernel_poll(&p, 1, 10);
                source_tick();
                host_writes();
        }
        return host->stage != HOST_NONE;
}

static void put(uint32_t value, uint32_t bytes)
{
        for (uint32_t i = 0; i < bytes; i++)
                host->out[host->out_used++] = (uint8_t)(value >> 8 * i);
}

static bool send(const struct protocol_message *m)
{
        struct str to;

        if (!await_room(0))
                return false;
        to = (struct str){ .data = (char *)host->out + host->out_used, .room = MESSAGE_MOST };
        protocol_write(m, &to);
        host->out_used += (uint32_t)to.length;
        return true;
}

static void put_head(uint32_t length, uint32_t type)
{
        put(length, 4);
        put(type, 2);
        put(0, 2);
}

void host_packet(const struct source *s, const uint8_t *packet, uint32_t bytes)
{
        put_head(bytes + 4, PROTOCOL_JOURNAL_TYPE);
        put(s->number, 4);
        memcpy(host->out + host->out_used, packet, bytes);
        host->out_used += bytes;
}

/* COUNT bytes behind an answer. */
static bool send_chunk(const uint8_t *bytes, uint32_t count)
{
        if (!await_room(count))
                return false;
        put_head(count, PROTOCOL_CHUNK_TYPE);
        memcpy(host->out + host->out_used, bytes, count);
        host->out_used += count;
        return true;
}

bool host_answer(uint32_t status, uint64_t bytes, const char *text)
{
        struct protocol_message m = { .type = PROTOCOL_ANSWER_TYPE,
                                      .answer = { .status = status, .bytes = bytes } };

        guest_text(m.answer.text, sizeof m.answer.text, text);
        return send(&m);
}

bool host_chunks(const uint8_t *bytes, uint64_t count)
{
        uint32_t part = 0;

        for (; count; count -= part, bytes += part) {
                part = count < PIECE ? (uint32_t)count : PIECE;
                if (!send_chunk(bytes, part))
                        return false;
        }
        return true;
}

void host_asks(const struct source *s, uint32_t asked, uint32_t reason)
{
        struct protocol_message m = { .type = PROTOCOL_ASKS_TYPE,
                                      .asks = { .number = s->number, .asked = asked,
                                                .reason = reason } };

        send(&m);
}

void host_moment(const struct source *s, uint32_t ticket)
{
        struct protocol_message m = { .type = PROTOCOL_MOMENT_TYPE,
                                      .moment = { .number = s->number, .ticket = ticket } };

        send(&m);
}

void host_source(const struct source *s, uint32_t flags)
{
        struct protocol_message m = { .type = PROTOCOL_SOURCE_TYPE,
                                      .source = { .number = s->number, .pid = s->pid,
                                                  .flags = flags } };

        if (host->stage == HOST_STREAMS)
                send(&m);
}

/* Once what was there before is sent, and once more when all is over. */
void host_state(void)
{
        struct protocol_message m = { .type = PROTOCOL_STATE_TYPE,
                                      .state = { .state = PROTOCOL_STATE_RUNNING,
                                                 .exit = target.exit,
                                                 .dropped = target.dropped } };
        bool over = target.ended && source_all_over() && source_all_sent(), current = true;

        for (uint32_t i = 0; i < TARGET_SOURCES; i++)
                current = current && (!target.sources[i].used || target.sources[i].current);
        if (host->stage != HOST_STREAMS || (host->current_told && (!over || host->over_told)) ||
            !current)
                return;
        host->current_told = true;
        host->over_told = over;
        m.state.state = over ? PROTOCOL_STATE_ENDED : PROTOCOL_STATE_RUNNING;
        send(&m);
}

/* ---- beginning and end ---- */

void host_leaves(const char *why)
{
        bool streamed = host->stage == HOST_STREAMS;

        if (!host->stage)
                return;
        host->stage = HOST_NONE;
        sys_close(host->fd);
        host->fd = -1;
        if (streamed)
                source_stop_relays();
        if (why)
                say_more(streamed ? "the host is lost: " : "a host was not welcome: ", why,
                         streamed ? "; the program goes on" : "");
}

void host_becomes(const struct guest *g, const struct protocol_message *welcome)
{
        host->stage = HOST_WELCOME;
        host->fd = g->fd;
        host->out_used = host->out_sent = 0;
        host->in_used = g->used;
        memcpy(host->in, g->in, g->used);
        host->since_ms = kernel_now_ms();
        host->current_told = host->over_told = false;
        send(welcome);
        host_writes();
}

/* ---- requests ---- */

/* So many of BYTES at ADDRESS of PID could be read. */
static uint32_t read_memory(uint32_t pid, uint64_t address, uint8_t *to, uint32_t bytes)
{
        unsigned long local[2] = { (unsigned long)to, bytes },
                      remote[2] = { (unsigned long)address, bytes };
        long got = sys_call6(SYS_process_vm_readv, pid, (long)local, 1, (long)remote, 1, 0);

        return got > 0 ? (uint32_t)got : 0;
}

/* As a target with a ledger does: all of it, or nothing. */
static void send_memory(const struct protocol_request *r)
{
        static uint8_t piece[PIECE];
        const struct source *s = source_of(r->pid);
        uint32_t done = 0, part = 0;

        if (!s || !r->number || r->number > PROTOCOL_MEMORY_MAX) {
                host_answer(3, 0, "1 byte to 1 MiB of a process that is recorded can be read");
                return;
        }
        for (uint32_t at = 0; at < r->number; at += part) {
                part = r->number - at < PIECE ? r->number - at : PIECE;
                done += read_memory(r->pid, r->address + at, piece, part);
        }
        if (done != r->number) {
                host_answer(3, 0, "the memory cannot be read there");
                return;
        }
        host_answer(0, done, "");
        for (uint32_t at = 0; at < done && host->stage; at += part) {
                part = done - at < PIECE ? done - at : PIECE;
                read_memory(r->pid, r->address + at, piece, part);
                send_chunk(piece, part);
        }
}

static void begin_stream(void)
{
        host->stage = HOST_STREAMS;
        source_start_relays();
        host_state();
}

static void obey(const struct protocol_request *r)
{
        switch (r->kind) {
        case PROTOCOL_KIND_JOURNAL:
                if (host->stage == HOST_WELCOME && !target.is_reader)
                        begin_stream();
                return;
        case PROTOCOL_KIND_MEMORY:
                if (target.is_reader)
                        reader_memory(r);
                else
                        send_memory(r);
                return;
        case PROTOCOL_KIND_SEARCHED:
                source_searched(r->pid, r->number, r->address);
                host_answer(0, 0, "");
                return;
        case PROTOCOL_KIND_GOT:
                target.got = host->over_told;
                host_answer(0, 0, "");
                return;
        }
        if (!target.is_reader) {
                host_answer(3, 0, "that is asked by a further connection (HELLO with flag 1)");
                return;
        }
        switch (r->kind) {
        case PROTOCOL_KIND_HOLD: reader_hold(r); return;
        case PROTOCOL_KIND_USED: reader_used(r); return;
        case PROTOCOL_KIND_EXPECT: reader_expect(r); return;
        case PROTOCOL_KIND_POINTERS: reader_pointers(r); return;
        case PROTOCOL_KIND_CONTROL: reader_control(r); return;
        }
        host_answer(3, 0, "this target does not know the request");
}

static void take(const uint8_t *body, uint32_t length, uint32_t type)
{
        struct protocol_message m;

        if (type == PROTOCOL_CHUNK_TYPE && target.is_reader && reader_ranges(body, length))
                return;
        if (!protocol_read(&m, type, body, length))
                host_leaves("it sent a message that is not well formed");
        else if (type == PROTOCOL_REQUEST_TYPE)
                obey(&m.request);
        else if (type == PROTOCOL_FAULT_TYPE)
                host_leaves(m.fault.text);
        else
                host_leaves("a request was expected");
}

void host_reads(void)
{
        long got = sys_call6(SYS_recvfrom, host->fd, (long)(host->in + host->in_used),
                             (long)(sizeof host->in - host->in_used), KERNEL_DONTWAIT, 0, 0);
        uint32_t length, type;

        if (got == -SYS_EAGAIN || got == -SYS_EINTR)
                return;
        if (got <= 0) {
                host_leaves(NULL);
                return;
        }
        host->in_used += (uint32_t)got;
        while (host->stage && host->in_used >= PROTOCOL_HEAD_BYTES) {
                if (!protocol_read_head(host->in, &length, &type) ||
                    length > sizeof host->in - PROTOCOL_HEAD_BYTES) {
                        host_leaves("it does not speak the protocol of seep");
                        return;
                }
                if (host->in_used < PROTOCOL_HEAD_BYTES + length)
                        return;
                take(host->in + PROTOCOL_HEAD_BYTES, length, type);
                if (host->stage != HOST_STREAMS)
                        host->since_ms = kernel_now_ms();
                host->in_used -= PROTOCOL_HEAD_BYTES + length;
                memmove(host->in, host->in + PROTOCOL_HEAD_BYTES + length, host->in_used);
        }
}
