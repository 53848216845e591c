/* SPDX-License-Identifier: MIT */
/*
 * records.c -- the records of a packet, one after another.
 *
 * Keeps:  a record is read whole before anything is done with it, and nothing is done with one that
 *         does not end inside of its packet.
 */
#include "journal/parts.h"

#include <string.h>

#include "base/heap.h"
#include "book/error.h"
#include "wire/hello.h"

#define NODES_MAX (1u << 24)
#define FLAGS_KEPT                                                             \
        (WIRE_F_NO_MMAP | WIRE_F_NO_CXX | WIRE_F_NO_STACKS | WIRE_F_FREE_STACKS | \
         WIRE_F_START_OFF | WIRE_F_LEAK_SCAN)

/* A text of a record: not ended by a zero, and gone with the packet. */
struct text {
        const char *at;
        size_t length;
};

static struct text read_text(struct cursor *c)
{
        uint64_t length = cursor_varint(c);
        const uint8_t *at = length <= JOURNAL_TEXT_MAX ? cursor_bytes(c, length) : NULL;

        c->bad = c->bad || !at;
        return at ? (struct text){ (const char *)at, length } : (struct text){ "", 0 };
}

/* Into STRINGS; 0 when there is no room. */
static uint32_t keep_text(struct incoming *in, struct text t)
{
        char copy[JOURNAL_TEXT_MAX + 1];

        memcpy(copy, t.at, t.length);
        copy[t.length] = 0;
        return *copy ? book_string(&in->book, copy) : 0;
}

static void *row(struct incoming *in, enum ledger_part part, uint64_t number, size_t bytes)
{
        if (!book_commit(&in->book, part, (number + 1) * bytes))
                return NULL;
        return (uint8_t *)book_part(&in->book, part) + number * bytes;
}

static void raise(uint32_t *count, uint64_t number)
{
        if (number >= *count)
                *count = (uint32_t)number + 1;
}

/* ---- the heap ---- */

static void pass(struct incoming *in, struct ledger_event *e)
{
        e->thread = (uint16_t)in->model.thread;
        e->ms = in->model.ms;
        in->events++;
        apply_event(in, e);
}

static uint64_t where(struct incoming *in, struct cursor *c, uint32_t op, uint64_t size)
{
        struct journal_freed *f = journal_freed(&in->model, size);
        uint32_t how = op / JOURNAL_HOW % 4, depth = 0;
        uint64_t address;

        if (how == JOURNAL_CURSOR)
                return in->model.cursor;
        if (how == JOURNAL_DELTA)
                return in->model.cursor + journal_unfar(cursor_varint(c));
        if (how == JOURNAL_LAST_FREED && op & JOURNAL_MOVED)
                return in->model.taken.address;
        if (how == JOURNAL_FREED) {
                const uint8_t *told = cursor_bytes(c, 1);

                depth = told ? *told : 0;
        }
        if (depth >= f->count) {
                c->bad = true;
                return 0;
        }
        address = f->address[f->count - 1 - depth];
        journal_reuse(f, depth);
        return address;
}

static void read_alloc(struct incoming *in, struct cursor *c, uint32_t op)
{
        struct journal_model *m = &in->model;
        struct ledger_event e = { .type = op & JOURNAL_MOVED ? LEDGER_EVENT_MOVE
                                                             : LEDGER_EVENT_ALLOC };
        uint64_t site = op & JOURNAL_SITE ? cursor_varint(c) : *journal_next(m);

        c->bad = c->bad || op & 0x20 || site > UINT32_MAX;
        e.site = (uint32_t)site;
        e.size = op & JOURNAL_SIZE ? cursor_varint(c) : *journal_size(m, e.site);
        e.address = where(in, c, op, e.size);
        if (c->bad)
                return;
        if (op & JOURNAL_MOVED)
                journal_moved(m, e.address);
        journal_came(m, e.site, e.address, e.size);
        pass(in, &e);
}

static void read_release(struct incoming *in, struct cursor *c, uint32_t op)
{
        struct journal_model *m = &in->model;
        struct ledger_event e = { .type = op & JOURNAL_TAKEN ? LEDGER_EVENT_TAKE
                                                             : LEDGER_EVENT_FREE };
        const uint8_t *low;

        if (op >= JOURNAL_BY_ADDRESS) {
                c->bad = c->bad || op & 15;
                e.address = m->last + journal_unfar(cursor_varint(c));
                m->last = e.address;
        } else {
                low = cursor_bytes(c, 1);
                e.address = m->place[(op & 15) << 8 | (low ? *low : 0)].address;
        }
        if (op & JOURNAL_NODE)
                e.site = (uint32_t)cursor_varint(c);
        if (c->bad)
                return;
        journal_went(m, e.address, op & JOURNAL_TAKEN);
        pass(in, &e);
}

/* ---- other events ---- */

static void read_moment(struct incoming *in, struct cursor *c, uint32_t op)
{
        uint64_t thread = op != JOURNAL_TIME ? cursor_varint(c) : in->model.thread;
        uint64_t later = op != JOURNAL_THREAD ? journal_unzigzag(cursor_varint(c)) : 0;

        c->bad = c->bad || thread >= LEDGER_THREADS_MAX;
        if (c->bad)
                return;
        in->model.thread = (uint32_t)thread;
        in->model.ms += (uint32_t)later;
        apply_time(in, in->model.ms);
}

static void read_event(struct incoming *in, struct cursor *c)
{
        struct ledger_event e = { 0 };
        uint64_t type = cursor_varint(c), kind = cursor_varint(c), site = cursor_varint(c);

        e.address = in->model.other + journal_unzigzag(cursor_varint(c));
        e.size = cursor_varint(c);
        c->bad = c->bad || type >= LEDGER_EVENT_TYPES || kind > 255 || site > UINT32_MAX;
        if (c->bad)
                return;
        in->model.other = e.address;
        e.type = (uint8_t)type;
        e.kind = (uint8_t)kind;
        e.site = (uint32_t)site;
        pass(in, &e);
}

static void read_held(struct incoming *in, struct cursor *c)
{
        struct ledger_event e = { .type = LEDGER_EVENT_ALLOC };
        uint64_t what = cursor_varint(c), thread = cursor_varint(c), ms = cursor_varint(c),
                 site = cursor_varint(c);

        e.address = in->model.other + journal_unzigzag(cursor_varint(c));
        e.size = cursor_varint(c);
        c->bad = c->bad || thread >= LEDGER_THREADS_MAX || site > UINT32_MAX || ms > UINT32_MAX;
        if (c->bad)
                return;
        in->model.other = e.address;
        e.kind = what & JOURNAL_HELD_POOL ? LEDGER_KIND_POOL : 0;
        e.thread = (uint16_t)thread;
        e.ms = (uint32_t)ms;
        e.site = (uint32_t)site;
        apply_held(in, &e);
        if (what & JOURNAL_HELD_IGNORED)
                apply_ignore(in, apply_thread(in, e.thread), e.address);
}

/* ---- what numbers mean ---- */

static void read_node(struct incoming *in, struct cursor *c)
{
        struct journal_model *m = &in->model;
        uint64_t number = m->node + journal_unzigzag(cursor_varint(c)), up = cursor_varint(c),
                 module = cursor_varint(c), pc = m->pc + journal_unzigzag(cursor_varint(c));
        struct ledger_node *n;

        c->bad = c->bad || number <= LEDGER_NODE_CUT || up == 0 || up > number ||
                 module >> 1 > LEDGER_MODULES_MAX || !incoming_may_be(in, number, NODES_MAX);
        n = c->bad ? NULL : row(in, LEDGER_NODES, number, sizeof *n);
        if (!n)
                return;
        m->node = (uint32_t)number;
        m->pc = pc;
        n->parent = (uint32_t)(number - up);
        n->pc_module = LEDGER_NODE_PC(pc) | (module & 1 ? LEDGER_NODE_EXACT : 0) |
                       (module >> 1 ? (module >> 1) - 1 : LEDGER_NODE_NO_MODULE) << 48;
        raise(&in->book.head->node_count, number);
}

static void read_site(struct incoming *in, struct cursor *c)
{
        uint64_t number = cursor_varint(c), node = cursor_varint(c), kind = cursor_varint(c);
        struct ledger_site *s;

        c->bad = c->bad || !number || kind > 255 ||
                 !incoming_may_be(in, number, LEDGER_SITES_MAX) ||
                 !incoming_may_be(in, node, NODES_MAX);
        s = c->bad ? NULL : row(in, LEDGER_SITES, number, sizeof *s);
        if (!s)
                return;
        s->node = (uint32_t)node;
        s->kind = (uint32_t)kind;
        raise(&in->book.head->site_count, number);
        if (LEDGER_KIND_HAS_ALIGNMENT(kind))
                in->book.head->aligned_kinds = 1;
}

static void read_module(struct incoming *in, struct cursor *c)
{
        uint64_t n[13];
        const uint8_t *id;
        struct ledger_module *m;
        struct text path;

        for (size_t i = 0; i < sizeof n / sizeof *n; i++)
                n[i] = cursor_varint(c);
        id = n[12] <= sizeof m->build_id ? cursor_bytes(c, n[12]) : NULL;
        c->bad = c->bad || !id || n[0] >= LEDGER_MODULES_MAX ||
                 !incoming_may_be(in, n[0], UINT32_MAX);
        path = read_text(c);
        m = c->bad ? NULL : row(in, LEDGER_MODULES, n[0], sizeof *m);
        if (!m)
                return;
        *m = (struct ledger_module){ .start = n[1], .end = n[1] + n[2], .bias = n[3],
                                     .path = keep_text(in, path), .load_ms = (uint32_t)n[4],
                                     .gone_ms = (uint32_t)n[5], .flags = (uint32_t)n[6],
                                     .dev = n[7], .ino = n[8], .code_start = n[9],
                                     .code_end = n[9] + n[10], .code_offset = n[11],
                                     .build_id_bytes = (uint32_t)n[12] };
        memcpy(m->build_id, id, n[12]);
        raise(&in->book.head->module_count, n[0]);
}

static void read_type(struct incoming *in, struct cursor *c)
{
        uint64_t number = cursor_varint(c);
        struct text name = read_text(c);

        c->bad = c->bad || number >= LEDGER_TYPES_MAX;
        if (c->bad)
                return;
        in->book.head->type_name[number] = keep_text(in, name);
        raise(&in->book.head->type_count, number);
}

static void read_mark(struct incoming *in, struct cursor *c)
{
        uint64_t index = cursor_varint(c), type = cursor_varint(c), ms = cursor_varint(c),
                 thread = cursor_varint(c);
        struct text label = read_text(c);
        struct ledger_mark m;

        c->bad = c->bad || !type || type >= LEDGER_MARK_OUTSIDE || ms > UINT32_MAX ||
                 thread >= LEDGER_THREADS_MAX || index >= LEDGER_MARKS_MAX;
        if (c->bad)
                return;
        m = (struct ledger_mark){ .type = (uint32_t)type, .ms = (uint32_t)ms,
                                  .thread = (uint32_t)thread, .label = keep_text(in, label) };
        apply_mark(in, &m);
}

static void read_error(struct incoming *in, struct cursor *c)
{
        uint64_t n[14];
        struct ledger_error *f;

        for (size_t i = 0; i < sizeof n / sizeof *n; i++)
                n[i] = cursor_varint(c);
        c->bad = c->bad || n[0] >= ERROR_MAX;
        f = c->bad ? NULL : row(in, LEDGER_ERRORS, n[0], sizeof *f);
        if (!f)
                return;
        *f = (struct ledger_error){ .type = (uint32_t)n[1], .node = (uint32_t)n[2],
                                    .alloc_site = (uint32_t)n[3], .first_ms = (uint32_t)n[4],
                                    .address = n[5], .count = n[6], .release = (uint32_t)n[7],
                                    .thread = (uint32_t)n[8], .size = n[9],
                                    .first_free = (uint32_t)n[10], .wrong = (uint8_t)n[11],
                                    .alignment = (uint8_t)n[12], .given = n[13] };
        raise(&in->book.head->error_count, n[0]);
}

/* ---- the process ---- */

/* N numbers, of which we know COUNT. */
static void read_numbers(struct cursor *c, uint64_t *out, uint64_t count)
{
        uint64_t n = cursor_varint(c), value;

        memset(out, 0, count * sizeof *out);
        for (uint64_t i = 0; i < n && !c->bad; i++) {
                value = cursor_varint(c);
                if (i < count)
                        out[i] = value;
        }
}

static void read_counts(struct incoming *in, struct cursor *c)
{
#define COUNT(name) COUNT_##name,
        enum { JOURNAL_COUNTS_OF(COUNT) COUNTS };
#undef COUNT
        struct ledger_head *h = in->book.head;
        uint64_t n[COUNTS];

        read_numbers(c, n, COUNTS);
        if (c->bad)
                return;
#define TAKE(name) h->name = (__typeof__(h->name))n[COUNT_##name];
        JOURNAL_COUNTS_OF(TAKE)
#undef TAKE
        in->lost_told = n[COUNT_lost_events];
        h->older += in->older_here;
}

static void read_process(struct incoming *in, struct cursor *c)
{
#define FACT(name) FACT_##name,
        enum { JOURNAL_PROCESS_OF(FACT) FACTS };
#undef FACT
        struct ledger_head *h = in->book.head;
        uint64_t n[FACTS];

        read_numbers(c, n, FACTS);
        if (c->bad)
                return;
#define TAKE(name) h->name = (__typeof__(h->name))n[FACT_##name];
        JOURNAL_PROCESS_OF(TAKE)
#undef TAKE
        h->pid = h->pid ? h->pid : 1;
        h->flags &= FLAGS_KEPT;
        h->word_bytes = h->word_bytes == 4 ? 4 : 8;
        if (h->page_bytes < 4096 || h->page_bytes & (h->page_bytes - 1))
                h->page_bytes = 4096;
}

/* Part of a text, from AT on, into ROOM bytes; how many there are now. */
static uint32_t put(char *to, size_t room, uint64_t at, struct text t)
{
        if (at >= room || t.length >= room - at)
                return 0;
        memcpy(to + at, t.at, t.length);
        to[at + t.length] = 0;
        return (uint32_t)(at + t.length);
}

static void read_description(struct incoming *in, struct cursor *c)
{
        struct ledger_head *h = in->book.head;
        uint64_t which = cursor_varint(c), at = cursor_varint(c);
        struct text t = read_text(c);

        if (c->bad)
                return;
        if (which == JOURNAL_TEXT_EXE)
                put(h->exe, sizeof h->exe, at, t);
        else if (which == JOURNAL_TEXT_COMMAND)
                h->command_bytes = put(h->command, sizeof h->command, at, t);
        else if (which == JOURNAL_TEXT_CWD)
                put(in->cwd, sizeof in->cwd, at, t);
        else if (which == JOURNAL_TEXT_HOST)
                put(in->host, sizeof in->host, at, t);
}

static void read_end(struct incoming *in, struct cursor *c)
{
        uint64_t how = cursor_varint(c), status = cursor_varint(c), ms = cursor_varint(c),
                 events = cursor_varint(c);

        c->bad = c->bad || !how || how > JOURNAL_END_LEFT || status > UINT32_MAX ||
                 ms > UINT32_MAX;
        if (c->bad)
                return;
        in->end = (uint32_t)how;
        in->status = (uint32_t)status;
        in->end_ms = (uint32_t)ms;
        in->end_events = events;
        apply_time(in, in->end_ms);
}

static void read_again(struct incoming *in, struct cursor *c)
{
        bool again = cursor_varint(c) != 0;

        if (c->bad)
                return;
        in->was_again = true;
        if (in->again && !again)
                apply_current(in);
        in->again = again;
}

/* The parts of an earlier one are those of another maximum. */
static void read_peak(struct incoming *in, struct cursor *c)
{
        struct apply_peak peak = { .bytes = cursor_varint(c), .ms = cursor_varint(c),
                                   .error_bytes = cursor_varint(c) };

        c->bad = c->bad || peak.bytes > INT64_MAX || peak.ms > UINT32_MAX;
        if (c->bad)
                return;
        in->peak = peak;
        in->peak_told = true;
        in->part_count = 0;
}

static void read_part(struct incoming *in, struct cursor *c)
{
        uint64_t site = cursor_varint(c), bytes = cursor_varint(c), blocks = cursor_varint(c);

        c->bad = c->bad || !incoming_may_be(in, site, LEDGER_SITES_MAX) || bytes > INT64_MAX ||
                 blocks > INT32_MAX;
        if (c->bad || !in->again)
                return;
        in->parts = heap_grow(in->parts, in->part_count + 1, sizeof *in->parts);
        in->parts[in->part_count++] = (struct apply_part){ (uint32_t)site, bytes, blocks };
}

static void read_gone(struct incoming *in, struct cursor *c)
{
        struct apply_past past = { .site = cursor_varint(c), .blocks = cursor_varint(c),
                                   .bytes = cursor_varint(c), .lifetime_ms = cursor_varint(c),
                                   .temporary = cursor_varint(c) };

        if (!c->bad)
                apply_gone(in, &past);
}

static void read_other(struct incoming *in, struct cursor *c, uint32_t op)
{
        static void (*const readers[])(struct incoming *, struct cursor *) = {
                [JOURNAL_EVENT - JOURNAL_OTHER] = read_event,
                [JOURNAL_HELD - JOURNAL_OTHER] = read_held,
                [JOURNAL_PROCESS - JOURNAL_OTHER] = read_process,
                [JOURNAL_TEXT - JOURNAL_OTHER] = read_description,
                [JOURNAL_NODES - JOURNAL_OTHER] = read_node,
                [JOURNAL_SITES - JOURNAL_OTHER] = read_site,
                [JOURNAL_MODULE - JOURNAL_OTHER] = read_module,
                [JOURNAL_TYPE - JOURNAL_OTHER] = read_type,
                [JOURNAL_MARK - JOURNAL_OTHER] = read_mark,
                [JOURNAL_ERROR - JOURNAL_OTHER] = read_error,
                [JOURNAL_COUNTS - JOURNAL_OTHER] = read_counts,
                [JOURNAL_END - JOURNAL_OTHER] = read_end,
                [JOURNAL_AGAIN - JOURNAL_OTHER] = read_again,
                [JOURNAL_GONE - JOURNAL_OTHER] = read_gone,
                [JOURNAL_PEAK - JOURNAL_OTHER] = read_peak,
                [JOURNAL_PART - JOURNAL_OTHER] = read_part,
        };
        uint32_t which = op - JOURNAL_OTHER;

        if (op <= JOURNAL_THREAD)
                read_moment(in, c, op);
        else if (which < sizeof readers / sizeof *readers && readers[which])
                readers[which](in, c);
        else
                c->bad = true;
}

bool records_read(struct incoming *in, const uint8_t *body, uint32_t bytes)
{
        struct cursor c = { body, body + bytes, false };

        while (c.at < c.end && !c.bad) {
                uint32_t op = *c.at++;

                if (op != JOURNAL_END)
                        in->end = 0; /* the exec failed: it goes on */
                if (op < JOURNAL_BY_PLACE)
                        read_alloc(in, &c, op);
                else if (op < JOURNAL_OTHER)
                        read_release(in, &c, op);
                else
                        read_other(in, &c, op);
        }
        return !c.bad;
}
