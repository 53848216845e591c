/* SPDX-License-Identifier: MIT */
/*
 * transactions_earlier.c -- events in the formats of memtraq and mmleak.
 *
 * Keeps:  who reads such a log and keeps a table of addresses ends with the blocks that are
 *         really alive: a release stands before any later use of its address, and a realloc that
 *         failed leaves its block alive.
 *
 *   memtraq   timestamp;thread-name;thread-id;EVENT;...   microseconds since 1970
 *               start;VERSION;INTERNAL HEAP;ENABLED;RESOLVED      malloc;SIZE;void;PTR
 *               free;PTR;void;void        realloc;OLD;SIZE;NEW    tag;NAME;SERIAL;void
 *               enable;void;void;void     disable;void;void;void
 *             each followed by its return addresses, ";0x...", innermost first.  Its scripts take
 *             names from elsewhere, by the map of the process (`seep export --to maps`).  They skip
 *             events that they do not know, as enable and disable.
 *   mmleak    PTR CALLER SIZE   an allocation        PTR CALLER   a release
 */
#include <inttypes.h>

#include "report/transactions_parts.h"

/* Pools hand out parts of blocks that are in the log already. */
static bool is_foreign(const struct ledger_event *e)
{
        return e->kind == LEDGER_KIND_POOL ||
               (e->type >= LEDGER_EVENT_MAP && e->type != LEDGER_EVENT_MARK);
}

/* ---- memtraq ---- */

static void put_field(const char *text, struct str *out)
{
        for (; *text; text++)
                str_char(out, *text == ';' || *text == '\n' ? ',' : *text);
}

/* The log knows milliseconds.  Events of one of them are a microsecond apart, so that their order
 * is seen and no two moments are one. */
static uint64_t memtraq_time(struct transactions *t, const struct ledger_event *e)
{
        uint64_t first = t->profile->meta.start_realtime_ns / 1000 + (uint64_t)e->ms * 1000;

        if (t->last_us < first)
                t->last_us = first;
        else if (t->last_us < first + 999)
                t->last_us++;
        return t->last_us;
}

static void memtraq_begin(struct transactions *t, const struct ledger_event *e, const char *event,
                          struct str *out)
{
        const struct profile_thread *thread = transactions_thread(t, e);

        transactions_number(out, memtraq_time(t, e), 1, ' ');
        str_char(out, ';');
        put_field(thread->tid && *thread->name ? thread->name : "unknown", out);
        str_format(out, ";%u;%s;", thread->tid, event);
}

static void memtraq_head(struct transactions *t, struct str *out)
{
        static const struct ledger_event first;
        const struct profile_meta *m = &t->profile->meta;

        str_text(out,
                 "timestamp;thread-name;thread-id;event;param1;param2;param3;result;callstack\n");
        memtraq_begin(t, &first, "start", out);
        str_format(out, "%s;0;%d;0\n", m->version ? m->version : "seep",
                   !profile_started_off(t->profile));
}

static void memtraq_frames(struct transactions *t, uint32_t node, struct str *out)
{
        str_text(out, transactions_stack(t, node, NULL));
        str_char(out, '\n');
}

static void memtraq_free(struct transactions *t, const struct ledger_event *e, struct str *out)
{
        memtraq_begin(t, e, "free", out);
        str_format(out, "0x%" PRIx64 ";void;void", e->address);
        if (e->site) {
                memtraq_frames(t, e->site, out);
                return;
        }
        str_format(out, ";0x%" PRIx64 "\n", e->size);
}

static void memtraq_alloc(struct transactions *t, const struct ledger_event *e, uint64_t address,
                          uint64_t size, uint32_t node, struct str *out)
{
        memtraq_begin(t, e, "malloc", out);
        str_format(out, "%" PRIu64 ";void;0x%" PRIx64, size, address);
        memtraq_frames(t, node, out);
}

/* The beginning of a realloc that is not one with its end: the block is gone until then. */
static void memtraq_end(struct transactions *t, struct str *out)
{
        if (t->has_held)
                memtraq_free(t, &t->held, out);
        t->has_held = false;
}

static void memtraq_move(struct transactions *t, const struct transaction *x, struct str *out)
{
        const struct ledger_event *e = x->event;

        if (!t->has_held) {
                memtraq_alloc(t, e, e->address, e->size, x->node, out);
                return;
        }
        t->has_held = false;
        memtraq_begin(t, e, "realloc", out);
        str_format(out, "0x%" PRIx64 ";%" PRIu64 ";0x%" PRIx64, t->held.address, e->size,
                   e->address);
        memtraq_frames(t, x->node, out);
}

/* Snapshots are tags too: moments that --after and --before can name. */
static void memtraq_mark(struct transactions *t, const struct ledger_event *e, struct str *out)
{
        const char *label = transactions_label(t, e);
        bool turned = e->kind == LEDGER_MARK_ENABLE || e->kind == LEDGER_MARK_DISABLE;

        memtraq_begin(t, e, turned ? transactions_word(t, e) : "tag", out);
        if (turned) {
                str_text(out, "void;void;void\n");
                return;
        }
        put_field(*label ? label : transactions_word(t, e), out);
        str_format(out, ";%u;void\n", ++t->tags);
}

static void memtraq_put(struct transactions *t, const struct transaction *x, struct str *out)
{
        const struct ledger_event *e = x->event;

        if (is_foreign(e))
                return;
        if (t->has_held && (e->thread != t->held.thread ||
                            (e->type != LEDGER_EVENT_MOVE && e->type != LEDGER_EVENT_PUT_BACK)))
                memtraq_end(t, out);
        switch (e->type) {
        case LEDGER_EVENT_ALLOC:
                memtraq_alloc(t, e, e->address, e->size, x->node, out);
                break;
        case LEDGER_EVENT_FREE:
                memtraq_free(t, e, out);
                break;
        case LEDGER_EVENT_TAKE:
                t->held = *e;
                t->has_held = true;
                break;
        case LEDGER_EVENT_MOVE:
                memtraq_move(t, x, out);
                break;
        case LEDGER_EVENT_PUT_BACK:
                if (!t->has_held && x->block)
                        memtraq_alloc(t, x->event, x->block->address, x->block->size, x->node, out);
                t->has_held = false;
                break;
        case LEDGER_EVENT_MARK:
                memtraq_mark(t, e, out);
                break;
        }
}

const struct transactions_writer transactions_memtraq = { memtraq_head, memtraq_put, memtraq_end };

/* ---- mmleak ---- */

static void mmleak_pair(uint64_t address, uint64_t caller, struct str *out)
{
        transactions_hex(out, address);
        str_char(out, ' ');
        transactions_hex(out, caller);
}

static void mmleak_alloc(const struct transactions *t, uint64_t address, uint64_t size,
                         uint32_t node, struct str *out)
{
        mmleak_pair(address, node < t->profile->node_count ? t->profile->nodes[node].pc : 0, out);
        str_char(out, ' ');
        transactions_number(out, size, 1, ' ');
        str_char(out, '\n');
}

static void mmleak_put(struct transactions *t, const struct transaction *x, struct str *out)
{
        const struct ledger_event *e = x->event;

        if (is_foreign(e))
                return;
        switch (e->type) {
        case LEDGER_EVENT_ALLOC:
        case LEDGER_EVENT_MOVE:
                mmleak_alloc(t, e->address, e->size, x->node, out);
                break;
        case LEDGER_EVENT_PUT_BACK:
                if (x->block)
                        mmleak_alloc(t, x->block->address, x->block->size, x->node, out);
                break;
        case LEDGER_EVENT_FREE:
        case LEDGER_EVENT_TAKE:
                mmleak_pair(e->address, e->size, out);
                str_char(out, '\n');
                break;
        }
}

const struct transactions_writer transactions_mmleak = { NULL, mmleak_put, NULL };
