/* SPDX-License-Identifier: MIT */
#include "remote/held.h"

#include <elf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/plain.h"
#include "remote/pointers.h"

#define SMALL (16u << 10) /* what is fetched at least */
#define PIECES 64u        /* that are kept */
#define THREAD_WORDS 8u /* of a thread, at the least */
#define HOLD_PATIENCE_MS 30000u
#define ANSWER_MOST (256u << 20)

struct piece {
        uint64_t start, bytes; /* bytes 0: none; what could be read of it */
        uint8_t data[SMALL];
};

struct held {
        struct held_order order;
        struct link link; /* the same as the order's, for a further connection */
        struct link_connection to;
        bool connected, answered, broken;
        struct freeze_thread *threads;
        uint32_t thread_count;
        char *maps;
        struct mappings mappings;
        struct search_range *own, *told;
        uint32_t own_count, told_count;
        uint64_t allocator, scan_sp, scan_context, pause_ns;
        struct freeze_far far;

        struct piece *pieces;
        uint32_t next_piece;
        struct search_range *used; /* pages that were ever used, in [used_from, used_to) */
        uint32_t used_count;
        uint64_t used_from, used_to;
        struct pointers *expected; /* the target knows where pointers are to lead; NULL */
        pthread_mutex_t lock; /* a search reads in several threads: one asks at a time */
};

/* ---- the answer ---- */

struct words {
        const uint8_t *at;
        size_t left; /* bytes */
        bool bad;
};

static uint64_t word(struct words *w)
{
        uint64_t value = 0;

        if (w->left < 8) {
                w->bad = true;
                return 0;
        }
        for (int i = 0; i < 8; i++)
                value |= (uint64_t)w->at[i] << 8 * i;
        w->at += 8;
        w->left -= 8;
        return value;
}

/* A number of things that take EACH words or more. */
static uint32_t count_of(struct words *w, uint64_t each)
{
        uint64_t count = word(w);

        w->bad = w->bad || count > w->left / 8 / each;
        return w->bad ? 0 : (uint32_t)count;
}

/* General registers in DWARF's order, whichever processor's they are, then vectors. */
static void take_registers(struct words *w, struct freeze_thread *t)
{
        uint32_t count = count_of(w, 1), i;

        for (i = 0; i < count; i++) {
                uint64_t value = word(w);

                if (i < FREEZE_REGISTERS_MOST)
                        t->registers[i] = value;
        }
        count = count_of(w, 1);
        for (i = 0; i < count; i++) {
                uint64_t value = word(w);

                if (i < FREEZE_VECTORS)
                        t->vectors[i] = value;
        }
}

static void take_threads(struct held *h, struct words *w)
{
        h->thread_count = count_of(w, THREAD_WORDS);
        h->threads = heap_zero(h->thread_count, sizeof *h->threads);
        for (uint32_t i = 0; i < h->thread_count; i++) {
                struct freeze_thread *t = &h->threads[i];

                t->tid = (uint32_t)word(w);
                t->stopped = word(w) == 1;
                t->pc = word(w);
                t->sp = word(w);
                t->base = word(w);
                t->tp = word(w);
                take_registers(w, t);
        }
}

static struct search_range *take_ranges(struct words *w, uint32_t *count)
{
        struct search_range *all;

        *count = count_of(w, 2);
        all = heap_zero(*count, sizeof *all);
        for (uint32_t i = 0; i < *count; i++) {
                all[i].start = word(w);
                all[i].end = word(w);
        }
        return all;
}

bool held_parse(struct held *h, const uint8_t *bytes, size_t count)
{
        struct words w = { bytes, count, false };
        uint64_t maps;

        h->far.copied = word(&w) & 1;
        h->allocator = word(&w);
        h->scan_sp = word(&w);
        h->scan_context = word(&w);
        take_threads(h, &w);
        h->own = take_ranges(&w, &h->own_count);
        h->told = take_ranges(&w, &h->told_count);
        maps = word(&w);
        h->pause_ns = word(&w);
        if (w.bad || maps != w.left)
                return false;
        h->maps = heap_zero(maps + 1, 1);
        memcpy(h->maps, w.at, maps);
        mappings_parse(&h->mappings, h->maps);
        return true;
}

/* ---- the connection ---- */

static bool ask(struct held *h, const struct protocol_request *r, struct err *e)
{
        struct protocol_message m = { .type = PROTOCOL_REQUEST_TYPE, .request = *r };

        m.request.pid = h->order.pid;
        return channel_send(&h->to.channel, &m, e);
}

/* What follows, at most MOST bytes, into OUT. */
static bool take(struct held *h, uint64_t most, struct str *out, struct err *e)
{
        struct channel *c = &h->to.channel;
        struct protocol_message m;
        uint64_t left;

        if (!channel_receive(c, &m, HOLD_PATIENCE_MS, e))
                return false;
        if (m.type == PROTOCOL_FAULT_TYPE)
                return err_set(e, ERR_EXIT_CANNOT_TRACE, "%s: %.512s", c->peer, m.fault.text);
        if (m.type != PROTOCOL_ANSWER_TYPE || m.answer.bytes > most)
                return err_set(e, ERR_EXIT_CANNOT_TRACE, "%s sent no answer", c->peer);
        plain_name(m.answer.text);
        if (m.answer.status)
                return err_set(e, ERR_EXIT_CANNOT_TRACE, "%.1000s", m.answer.text);
        for (left = m.answer.bytes; left; left -= c->length) {
                if (!channel_receive(c, &m, HOLD_PATIENCE_MS, e))
                        return false;
                if (m.type != PROTOCOL_CHUNK_TYPE || !c->length || c->length > left)
                        return err_set(e, ERR_EXIT_CANNOT_TRACE,
                                       "%s did not send what it promised", c->peer);
                str_bytes(out, c->body, c->length);
        }
        return true;
}

struct held *held_new(const struct held_order *o)
{
        struct held *h = heap_zero(1, sizeof *h);

        h->order = *o;
        pthread_mutex_init(&h->lock, NULL);
        return h;
}

static bool dial(struct held *h, struct err *e)
{
        h->link = *h->order.link;
        h->link.hello_flags = PROTOCOL_HELLO_READER;
        h->connected = link_connect(&h->link, &h->to, e);
        return h->connected;
}

struct held *held_open(const struct held_order *o, struct err *e)
{
        struct held *h = held_new(o);
        struct protocol_request r = { .kind = PROTOCOL_KIND_HOLD, .number = o->ticket,
                                      .flags = o->still ? PROTOCOL_HOLD_STILL : 0 };

        if (dial(h, e) && ask(h, &r, e))
                return h;
        held_close(h);
        return NULL;
}

static void hang_up(void *context)
{
        struct held *h = context;

        if (h->connected)
                link_disconnect(&h->to);
        h->connected = false;
}

void held_close(struct held *h)
{
        if (!h)
                return;
        hang_up(h);
        free(h->threads);
        free(h->maps);
        mappings_free(&h->mappings);
        free(h->own);
        free(h->told);
        free(h->pieces);
        free(h->used);
        free(h->expected);
        free(h);
}

/* Whoever carries the connection ends with it, later. */
void held_forget(struct held *h)
{
        close(h->to.channel.in);
        h->connected = false;
        held_close(h);
}

int held_wait_at(const struct held *h)
{
        return h->connected && !h->answered ? h->to.channel.in : -1;
}

bool held_is_answered(const struct held *h)
{
        return h->answered;
}

bool held_answer(struct held *h, struct err *e)
{
        struct str out = { 0 };
        bool good = take(h, ANSWER_MOST, &out, e) &&
                    (held_parse(h, (const uint8_t *)str_get(&out), out.length) ||
                     err_set(e, ERR_EXIT_CANNOT_TRACE, "%s sent an answer that makes no sense",
                             h->to.channel.peer));

        h->answered = good;
        str_free(&out);
        return good;
}

void held_facts(const struct held *h, struct held_facts *out)
{
        *out = (struct held_facts){ .allocator = h->allocator, .scan_sp = h->scan_sp,
                                    .scan_context = h->scan_context, .own = h->own,
                                    .told = h->told, .own_count = h->own_count,
                                    .told_count = h->told_count };
}

bool held_control(const struct held_order *o, uint32_t what, uint64_t *pause_ns, struct err *e)
{
        struct held *h = held_new(o);
        struct protocol_request r = { .kind = PROTOCOL_KIND_CONTROL, .flags = what };
        struct str out = { 0 };
        bool good = dial(h, e) && ask(h, &r, e) && take(h, 8, &out, e);
        struct words w = { (const uint8_t *)str_get(&out), out.length, false };

        *pause_ns = good ? word(&w) : 0;
        str_free(&out);
        held_close(h);
        return good;
}

/* ---- memory ---- */

/* How many bytes from the start could be read. */
static size_t fetch(struct held *h, uint64_t address, uint8_t *to, size_t bytes)
{
        struct protocol_request r = { .kind = PROTOCOL_KIND_MEMORY, .address = address,
                                      .flags = PROTOCOL_MEMORY_PART };
        size_t done = 0, want, got;
        struct err e;

        do {
                struct str out = { 0 };

                want = bytes - done < PROTOCOL_MEMORY_MAX ? bytes - done : PROTOCOL_MEMORY_MAX;
                r.address = address + done;
                r.number = (uint32_t)want;
                h->broken = h->broken || !h->connected || !ask(h, &r, &e) ||
                            !take(h, want, &out, &e);
                got = h->broken ? 0 : out.length;
                if (got)
                        memcpy(to + done, out.data, got);
                str_free(&out);
                done += got;
        } while (done < bytes && got == want);
        return done;
}

/* The piece that ADDRESS is in; NULL: nothing is mapped there. */
static const struct piece *piece_at(struct held *h, uint64_t address)
{
        const struct mapping *m = mappings_find(&h->mappings, address);
        uint64_t start = address & ~(uint64_t)(SMALL - 1), end = start + SMALL;
        struct piece *p;

        if (!m)
                return NULL;
        if (!h->pieces)
                h->pieces = heap_zero(PIECES, sizeof *h->pieces);
        for (uint32_t i = 0; i < PIECES; i++)
                if (h->pieces[i].bytes && address - h->pieces[i].start < h->pieces[i].bytes)
                        return &h->pieces[i];
        start = start > m->start ? start : m->start;
        end = end < m->end ? end : m->end;
        p = &h->pieces[h->next_piece++ % PIECES];
        p->start = start;
        p->bytes = fetch(h, start, p->data, end - start);
        return address - start < p->bytes ? p : NULL;
}

static size_t read_small(struct held *h, uint64_t address, void *to, size_t bytes)
{
        size_t done = 0;

        while (done < bytes) {
                const struct piece *p = piece_at(h, address + done);
                size_t part;

                if (!p)
                        break;
                part = p->start + p->bytes - (address + done);
                part = part < bytes - done ? part : bytes - done;
                memcpy((char *)to + done, p->data + (address + done - p->start), part);
                done += part;
        }
        return done;
}

static size_t read_memory(void *context, uint64_t address, void *to, size_t bytes)
{
        struct held *h = context;
        size_t done;

        pthread_mutex_lock(&h->lock);
        done = bytes >= SMALL ? fetch(h, address, to, bytes) : read_small(h, address, to, bytes);
        pthread_mutex_unlock(&h->lock);
        return done;
}

/* ---- words that lead somewhere ---- */

/* As the target takes them. */
static void write_ranges(const struct freeze_range *ranges, uint32_t count, struct str *out)
{
        for (uint32_t i = 0; i < count; i++)
                for (uint32_t b = 0; b < POINTERS_RANGE_BYTES; b++)
                        str_char(out, (char)((b < 8 ? ranges[i].start : ranges[i].end) >>
                                             b % 8 * 8));
}

/* One that does not know the request says no, and is read as it is. */
static bool send_ranges(struct held *h, const struct str *bytes, uint32_t count)
{
        struct protocol_request r = { .kind = PROTOCOL_KIND_EXPECT, .number = count };
        struct str none = { 0 };
        struct err e;
        size_t at, part;

        if (!ask(h, &r, &e) || !take(h, 0, &none, &e))
                return false;
        for (at = 0; at < bytes->length; at += part) {
                part = bytes->length - at;
                part = part < PROTOCOL_EXPECT_CHUNK ? part : PROTOCOL_EXPECT_CHUNK;
                if (!channel_send_bytes(&h->to.channel, bytes->data + at, (uint32_t)part, &e))
                        return false;
        }
        return take(h, 0, &none, &e);
}

static bool expect(void *context, const struct freeze_range *ranges, uint32_t count)
{
        struct held *h = context;
        struct pointers *p = heap_zero(1, sizeof *p);
        struct str bytes = { 0 };

        pthread_mutex_lock(&h->lock);
        write_ranges(ranges, count, &bytes);
        free(h->expected);
        h->expected = NULL;
        if (h->connected && !h->broken && count &&
            pointers_expect(p, (const uint8_t *)str_get(&bytes), bytes.length) &&
            send_ranges(h, &bytes, count)) {
                h->expected = p;
                p = NULL;
        }
        pthread_mutex_unlock(&h->lock);
        free(p);
        str_free(&bytes);
        return h->expected != NULL;
}

static size_t fetch_pointers(struct held *h, uint64_t address, uint8_t *to, size_t bytes)
{
        const struct protocol_greeting *g = &h->to.greeting;
        const uint16_t one = 1;
        struct pointers_form form = { g->word, (*(const uint8_t *)&one == 1) != (g->order == 1) };
        struct protocol_request r = { .kind = PROTOCOL_KIND_POINTERS, .address = address,
                                      .number = (uint32_t)bytes };
        struct str out = { 0 };
        struct err e;
        size_t got = 0;

        h->broken = h->broken || !h->connected || !ask(h, &r, &e) ||
                    !take(h, bytes + POINTERS_HEAD, &out, &e) ||
                    !pointers_unpack(h->expected, (const uint8_t *)str_get(&out), out.length,
                                     &form, to, bytes, &got);
        str_free(&out);
        return h->broken ? 0 : got;
}

static size_t read_pointers(void *context, uint64_t address, void *to, size_t bytes)
{
        struct held *h = context;
        size_t done = 0, want, got;

        pthread_mutex_lock(&h->lock);
        do {
                want = bytes - done < PROTOCOL_POINTERS_MAX ? bytes - done : PROTOCOL_POINTERS_MAX;
                got = fetch_pointers(h, address + done, (uint8_t *)to + done, want);
                done += got;
        } while (done < bytes && got == want);
        pthread_mutex_unlock(&h->lock);
        return done;
}

/* ---- pages ---- */

/* Which pages of [ADDRESS, END) were used, or of as much of it as fits into an answer. */
static bool ask_used(struct held *h, uint64_t address, uint64_t end)
{
        uint64_t pages = (end - address + PROTOCOL_PAGE - 1) / PROTOCOL_PAGE;
        struct protocol_request r = { .kind = PROTOCOL_KIND_USED, .address = address,
                                      .number = pages < UINT32_MAX ? (uint32_t)pages
                                                                   : UINT32_MAX };
        struct str out = { 0 };
        struct words w;
        struct err e;

        h->broken = h->broken || !h->connected || !ask(h, &r, &e) ||
                    !take(h, 8 + 16 * PROTOCOL_USED_MAX, &out, &e);
        w = (struct words){ (const uint8_t *)str_get(&out), out.length, false };
        free(h->used);
        h->used_from = address;
        h->used_to = word(&w);
        h->used_count = (uint32_t)(w.left / 16);
        h->used = heap_zero(h->used_count, sizeof *h->used);
        for (uint32_t i = 0; i < h->used_count; i++) {
                h->used[i].start = word(&w);
                h->used[i].end = word(&w);
        }
        str_free(&out);
        return !h->broken && h->used_to > address;
}

static uint64_t find_used(struct held *h, uint64_t address, uint64_t end)
{
        while (address < end) {
                if ((address < h->used_from || address >= h->used_to) &&
                    !ask_used(h, address, end))
                        return address;
                for (uint32_t i = 0; i < h->used_count; i++)
                        if (h->used[i].end > address) {
                                uint64_t found = h->used[i].start > address ? h->used[i].start
                                                                            : address;

                                return found < end ? found : end;
                        }
                address = h->used_to;
        }
        return end;
}

static uint64_t next_used(void *context, uint64_t address, uint64_t end)
{
        struct held *h = context;
        uint64_t found;

        pthread_mutex_lock(&h->lock);
        found = find_used(h, address, end);
        pthread_mutex_unlock(&h->lock);
        return found;
}

static bool lasts(void *context)
{
        const struct held *h = context;

        return !h->broken;
}

bool held_freeze(void *context, struct freeze *f, struct err *e)
{
        struct held *h = context;

        if (!h->answered)
                return err_set(e, ERR_EXIT_CANNOT_TRACE, "the target did not stop the process");
        h->far.context = h;
        h->far.read = read_memory;
        h->far.next_used = next_used;
        h->far.expect = expect;
        h->far.pointers = read_pointers;
        h->far.lasts = lasts;
        h->far.release = hang_up;
        *f = (struct freeze){ .pid = (pid_t)h->order.pid, .threads = h->threads,
                              .thread_count = h->thread_count, .maps = h->maps, .far = &h->far,
                              .machine = (uint16_t)h->to.greeting.machine,
                              .pause_ns = h->pause_ns };
        snprintf(f->root, sizeof f->root, "%s", h->order.root);
        mappings_free(&h->mappings);
        h->maps = heap_text(h->maps); /* ours, and F's */
        mappings_parse(&h->mappings, h->maps);
        h->threads = NULL;
        return true;
}
