/* SPDX-License-Identifier: MIT */
/* stream_pack.c -- events as records of a packet, in as few bytes as the model allows. */
#include "agent/arena.h"
#include "agent/bytes.h"
#include "agent/stream_parts.h"
#include "agent/sys.h"

#include "agent/guest.h"

struct stream_packet *stream_packet;

bool stream_pack_start(void)
{
        uint64_t size = sizeof *stream_packet + JOURNAL_HEAD + JOURNAL_BODY_MAX;

        if (!stream_packet)
                stream_packet = arena_private(size);
        if (!stream_packet)
                return false;
        memset(stream_packet, 0, sizeof *stream_packet);
        stream_packet->bytes = (uint8_t *)(stream_packet + 1);
        stream_packet->limit = stream_out_most() - JOURNAL_HEAD;
        stream_packet->fresh = true;
        return true;
}

/* ---- packets ---- */

static void put_head(struct stream_packet *p)
{
        uint8_t *head = p->bytes;

        memcpy(head, JOURNAL_MAGIC, JOURNAL_MAGIC_BYTES);
        head[JOURNAL_AT_VERSION] = JOURNAL_VERSION;
        head[JOURNAL_AT_WORD] = sizeof(arch_word);
        head[JOURNAL_AT_ORDER] = LEDGER_BIG_ENDIAN ? 2 : 1;
        head[JOURNAL_AT_FLAGS] = p->fresh ? JOURNAL_FRESH : 0;
        journal_store(head + JOURNAL_AT_BYTES, p->used);
        journal_store(head + JOURNAL_AT_NUMBER, p->number);
        journal_store(head + JOURNAL_AT_SUM, journal_sum(head + JOURNAL_HEAD, p->used));
        journal_store(head + JOURNAL_AT_PID, agent.pid);
        journal_store(head + JOURNAL_AT_STREAM, (uint32_t)(agent.head->start_realtime_ns >> 10));
}

/* The next packet is empty. */
static void begin(struct stream_packet *p)
{
        p->number++;
        p->used = p->sent = p->whole = 0;
        p->fresh = stream_out_is_datagram() || p->number % JOURNAL_FRESH_EVERY == 0;
        if (p->fresh)
                memset(&p->model, 0, sizeof p->model);
}

/* Whether it may go better later. */
static bool is_passing(long error)
{
        static const uint8_t passing[] = { SYS_EAGAIN, SYS_ENOMEM, 23 /* ENFILE */, 24 /* EMFILE */,
                                           28 /* ENOSPC */, 105 /* ENOBUFS */, 122 /* EDQUOT */ };

        for (size_t i = 0; i < sizeof passing; i++)
                if (error == -(long)passing[i])
                        return true;
        return false;
}

bool stream_close_packet(void)
{
        struct stream_packet *p = stream_packet;
        uint32_t since = 0;
        long sent;

        if (!p->whole && !p->used)
                return true;
        if (!p->whole) {
                put_head(p);
                p->whole = JOURNAL_HEAD + p->used;
        }
        while (p->sent < p->whole) {
                sent = stream_out_send(p->bytes + p->sent, p->whole - p->sent);
                if (sent > 0) {
                        p->sent += (uint32_t)sent;
                        since = 0;
                        continue;
                }
                if (!is_passing(sent)) { /* who listened is gone, or the file is */
                        agent_stop(LEDGER_STOP_BY_USER);
                        return false;
                }
                since = since ? since : stream_now_ms() | 1;
                if (!stream_waits(since))
                        return false;
                stream_out_wait();
        }
        begin(p);
        return true;
}

bool stream_room(uint32_t count)
{
        struct stream_packet *p = stream_packet;

        return (!p->whole && p->used + count <= p->limit) || stream_close_packet();
}

void stream_byte(uint32_t value)
{
        stream_packet->bytes[JOURNAL_HEAD + stream_packet->used++] = (uint8_t)value;
}

void stream_number(uint64_t value)
{
        for (; value >= 128; value >>= 7)
                stream_byte(128 | ((uint32_t)value & 127));
        stream_byte((uint32_t)value);
}

/* ---- events ---- */

/* Whose the next events are, and when they were. */
static void tell_moment(struct journal_model *m, const struct ledger_event *e)
{
        uint64_t later = journal_zigzag((uint64_t)((int64_t)e->ms - (int64_t)m->ms));

        if (e->thread == m->thread && e->ms == m->ms)
                return;
        stream_byte(e->thread == m->thread ? JOURNAL_TIME
                    : e->ms == m->ms       ? JOURNAL_THREAD
                                           : JOURNAL_MOMENT);
        if (e->thread != m->thread)
                stream_number(e->thread);
        if (e->ms != m->ms)
                stream_number(later);
        m->thread = e->thread;
        m->ms = e->ms;
}

/* How the address of an allocation is told; *DEPTH: how many were freed since. */
static enum journal_how how_far(struct journal_model *m, const struct ledger_event *e,
                                uint32_t *depth)
{
        const struct journal_freed *f = journal_freed(m, e->size);

        if (e->type == LEDGER_EVENT_MOVE && m->taken.address == e->address)
                return JOURNAL_LAST_FREED;
        for (*depth = 0; *depth < f->count; ++*depth)
                if (f->address[f->count - 1 - *depth] == e->address)
                        return *depth || e->type == LEDGER_EVENT_MOVE ? JOURNAL_FREED
                                                                      : JOURNAL_LAST_FREED;
        return m->cursor == e->address ? JOURNAL_CURSOR : JOURNAL_DELTA;
}

static void came(struct journal_model *m, const struct ledger_event *e)
{
        bool move = e->type == LEDGER_EVENT_MOVE;
        uint32_t depth = 0, site = *journal_next(m) == e->site ? 0 : JOURNAL_SITE;
        uint32_t size = *journal_size(m, e->site) == e->size ? 0 : JOURNAL_SIZE;
        enum journal_how how = how_far(m, e, &depth);

        stream_byte((move ? JOURNAL_MOVED : 0) | size | site | how * JOURNAL_HOW);
        if (site)
                stream_number(e->site);
        if (size)
                stream_number(e->size);
        if (how == JOURNAL_DELTA)
                stream_number(journal_far(e->address - m->cursor));
        else if (how == JOURNAL_FREED)
                stream_byte(depth);
        if (how == JOURNAL_FREED || (how == JOURNAL_LAST_FREED && !move))
                journal_reuse(journal_freed(m, e->size), depth);
        if (move)
                journal_moved(m, e->address);
        journal_came(m, e->site, e->address, e->size);
}

static void went(struct journal_model *m, const struct ledger_event *e)
{
        bool take = e->type == LEDGER_EVENT_TAKE;
        uint32_t flags = (take ? JOURNAL_TAKEN : 0) | (e->site ? JOURNAL_NODE : 0);
        uint32_t place = journal_place(e->address);

        if (m->place[place].address == e->address) {
                stream_byte(JOURNAL_BY_PLACE | flags | place >> 8);
                stream_byte(place & 255);
        } else {
                stream_byte(JOURNAL_BY_ADDRESS | flags);
                stream_number(journal_far(e->address - m->last));
                m->last = e->address;
        }
        if (e->site)
                stream_number(e->site);
        journal_went(m, e->address, take);
}

static void other(struct journal_model *m, const struct ledger_event *e)
{
        stream_byte(JOURNAL_EVENT);
        stream_number(e->type);
        stream_number(e->kind);
        stream_number(e->site);
        stream_number(journal_zigzag(e->address - m->other));
        stream_number(e->size);
        m->other = e->address;
}

bool stream_event(const struct ledger_event *e)
{
        struct journal_model *m = &stream_packet->model;

        if (!stream_room(2 * STREAM_RECORD))
                return false;
        tell_moment(m, e);
        if ((e->type == LEDGER_EVENT_ALLOC || e->type == LEDGER_EVENT_MOVE) &&
            e->kind != LEDGER_KIND_POOL)
                came(m, e);
        else if ((e->type == LEDGER_EVENT_FREE || e->type == LEDGER_EVENT_TAKE) &&
                 e->kind != LEDGER_KIND_POOL)
                went(m, e);
        else
                other(m, e);
        return true;
}
