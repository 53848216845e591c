/* SPDX-License-Identifier: MIT */
/*
 * transactions_earlier.c -- events as memtraq logged them, and as mmleak did.
 *
 * Room:   outside.
 * Keeps:  who reads such a log and keeps a table of addresses ends with the blocks that are really alive: a release stands before
 *         any later use of its address, and a realloc that failed leaves its block alive.
 *
 *   memtraq   timestamp;thread-name;thread-id;EVENT;...   microseconds since 1970
 *               start;VERSION;1;1      malloc;SIZE;void;PTR      free;PTR;void;void      realloc;OLD;SIZE;NEW      tag;NAME;SERIAL;void
 *             each followed by its frames, ";PATH(FUNCTION) [ADDRESS]" or ";ADDRESS"
 *   mmleak    PTR CALLER SIZE   an allocation        PTR CALLER   a release
 */
#include <inttypes.h>

#include "report/transactions_form.h"

/* Pools hand out parts of blocks that are in the log already. */
static bool is_foreign(const struct ledger_event *e)
{
        return e->kind == LEDGER_KIND_POOL || (e->type >= LEDGER_EVENT_MAP && e->type != LEDGER_EVENT_MARK);
}

/* ---- memtraq ---- */

static void put_field(const char *text, struct str *out)
{
        for (; *text; text++)
                str_char(out, *text == ';' || *text == '\n' ? ',' : *text);
}

static void memtraq_begin(const struct transactions *t, const struct ledger_event *e, const char *event, struct str *out)
{
        const struct profile_thread *thread = transactions_thread(t, e);

        str_format(out, "%" PRIu64 ";", t->profile->meta.start_realtime_ns / 1000 + (uint64_t)e->ms * 1000);
        put_field(thread->name, out);
        str_format(out, ";%u;%s;", thread->tid, event);
}

static void memtraq_head(struct transactions *t, struct str *out)
{
        static const struct ledger_event first;

        str_text(out, "timestamp;thread-name;thread-id;event;param1;param2;param3;result;callstack\n");
        memtraq_begin(t, &first, "start", out);
        str_format(out, "%s;1;1\n", t->profile->meta.version ? t->profile->meta.version : "seep");
}

static void memtraq_frame(const struct transactions *t, uint32_t node, const struct symbol_frame *frame, uint32_t index, struct str *out)
{
        const struct profile_node *n = &t->profile->nodes[node];

        (void)index;
        str_char(out, ';');
        if (frame->function && n->module < t->profile->module_count) {
                put_field(t->profile->modules[n->module].path, out);
                str_char(out, '(');
                put_field(frame->function, out);
                str_text(out, ") [");
        }
        str_format(out, "0x%" PRIx64 "%s", n->pc, frame->function && n->module < t->profile->module_count ? "]" : "");
}

static void memtraq_frames(struct transactions *t, uint32_t node, struct str *out)
{
        str_text(out, transactions_stack(t, node, memtraq_frame));
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

static void memtraq_alloc(struct transactions *t, const struct ledger_event *e, uint64_t address, uint64_t size, uint32_t node,
                          struct str *out)
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
        str_format(out, "0x%" PRIx64 ";%" PRIu64 ";0x%" PRIx64, t->held.address, e->size, e->address);
        memtraq_frames(t, x->node, out);
}

static void memtraq_put_back(struct transactions *t, const struct transaction *x, struct str *out)
{
        if (!t->has_held && x->block)
                memtraq_alloc(t, x->event, x->block->address, x->block->size, x->node, out);
        t->has_held = false;
}

static void memtraq_put(struct transactions *t, const struct transaction *x, struct str *out)
{
        const struct ledger_event *e = x->event;

        if (is_foreign(e))
                return;
        if (t->has_held && (e->thread != t->held.thread || (e->type != LEDGER_EVENT_MOVE && e->type != LEDGER_EVENT_PUT_BACK)))
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
                memtraq_put_back(t, x, out);
                break;
        case LEDGER_EVENT_MARK:
                memtraq_begin(t, e, "tag", out);
                put_field(transactions_label(t, e), out);
                str_format(out, ";%u;void\n", ++t->tags);
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

static void mmleak_alloc(const struct transactions *t, uint64_t address, uint64_t size, uint32_t node, struct str *out)
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
