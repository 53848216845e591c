/* SPDX-License-Identifier: MIT */
/* transactions_text.c -- events as text, and as a table (--csv). */
#include <inttypes.h>
#include <string.h>

#include "report/transactions_parts.h"
#include "words/csv.h"
#include "words/label.h"
#include "words/text.h"

/* ---- text ---- */

static void text_head(struct transactions *t, struct str *out)
{
        (void)t;
        str_text(out,
                 "          no     time s  thread                event                 "
                 "address         size  what\n");
}

/* On one line, or on lines of their own. */
static void text_frame(const struct transactions *t, uint32_t node,
                       const struct symbol_frame *frame, uint32_t index, struct str *out)
{
        if (t->whole) {
                str_text(out, "\n            ");
                label_fit(t->profile, node, frame, 0, 0, out);
        } else {
                str_text(out, index ? " < " : "");
                label_short(t->profile, node, frame, out);
                label_object(t->profile, node, false, out);
        }
}

static void signed_number(char sign, uint64_t value, struct str *out)
{
        str_char(out, sign);
        transactions_number(out, value, 1, ' ');
}

/* The name in a LEDGER_EVENT_THREAD_NAME, printable. */
static const char *thread_name(const struct ledger_event *e, char name[static 17])
{
        memcpy(name, &e->address, 8);
        memcpy(name + 8, &e->size, 8);
        name[16] = 0;
        for (char *c = name; *c; c++)
                if ((unsigned char)*c < ' ' || *c == 127)
                        *c = '?';
        return name;
}

/* Bytes that are there now and were not before, or the other way round. */
static void text_amount(const struct transaction *x, struct str *out)
{
        const struct ledger_event *e = x->event;

        switch (e->type) {
        case LEDGER_EVENT_ALLOC:
        case LEDGER_EVENT_MOVE:
        case LEDGER_EVENT_MAP:
        case LEDGER_EVENT_ACQUIRE:
                signed_number('+', e->size, out);
                break;
        case LEDGER_EVENT_UNMAP:
                signed_number('-', e->size, out);
                break;
        case LEDGER_EVENT_CARVE:
                str_format(out, "%+" PRId64, -(int64_t)e->size);
                break;
        default:
                if (x->block)
                        signed_number(e->type == LEDGER_EVENT_PUT_BACK ? '+' : '-', x->block->size,
                                      out);
        }
}

static void text_address(const struct transaction *x, struct str *out)
{
        const struct ledger_event *e = x->event;

        switch (e->type) {
        case LEDGER_EVENT_MARK:
        case LEDGER_EVENT_THREAD:
        case LEDGER_EVENT_THREAD_END:
        case LEDGER_EVENT_THREAD_NAME:
        case LEDGER_EVENT_MODULE:
        case LEDGER_EVENT_UNMAP_FAILED:
                break;
        case LEDGER_EVENT_PUT_BACK:
                if (x->block)
                        transactions_hex(out, x->block->address);
                break;
        case LEDGER_EVENT_ACQUIRE:
        case LEDGER_EVENT_RELEASE:
                str_format(out, "%" PRIu64, e->address);
                break;
        default:
                transactions_hex(out, e->address);
        }
}

static void text_release(struct transactions *t, const struct transaction *x, struct str *out)
{
        const struct ledger_event *e = x->event;

        if (x->block) {
                str_text(out, "of event ");
                transactions_number(out, x->block->number, 1, ' ');
                str_text(out, ", ");
                transactions_number(out, e->ms > x->block->ms ? e->ms - x->block->ms : 0, 1, ' ');
                str_text(out, " ms old");
        } else {
                str_text(out, "of a block from before");
        }
        if (e->size) {
                str_text(out, ", by ");
                transactions_place(t, e->size, out);
        }
        if (e->site)
                str_format(out, "%s%s", t->whole ? "" : " ",
                           transactions_stack(t, e->site, text_frame));
}

static void text_what(struct transactions *t, const struct transaction *x, struct str *out)
{
        const struct ledger_event *e = x->event;
        char name[17];

        switch (e->type) {
        case LEDGER_EVENT_FREE:
        case LEDGER_EVENT_TAKE:
                text_release(t, x, out);
                break;
        case LEDGER_EVENT_MARK:
                text_name(out, transactions_label(t, e));
                break;
        case LEDGER_EVENT_MODULE:
                str_text(out, transactions_module(t, e));
                break;
        case LEDGER_EVENT_THREAD:
        case LEDGER_EVENT_THREAD_END:
                str_format(out, "tid %" PRIu64, e->address);
                break;
        case LEDGER_EVENT_THREAD_NAME:
                text_name(out, thread_name(e, name));
                break;
        case LEDGER_EVENT_ACQUIRE:
        case LEDGER_EVENT_RELEASE:
                str_format(out, "%s%s", profile_kind_name(t->profile, e->kind),
                           x->node && !t->whole ? " " : "");
                break;
        default:
                if (!x->node && e->site)
                        str_format(out, "site %u", e->site);
        }
        if (x->node && e->type != LEDGER_EVENT_FREE && e->type != LEDGER_EVENT_TAKE)
                str_text(out, transactions_stack(t, x->node, text_frame));
}

/* No spaces at the end of a line, which is at AT. */
static void drop_spaces(struct str *out, size_t at)
{
        size_t from = at;

        while (from && out->data[from - 1] == ' ')
                from--;
        memmove(out->data + from, out->data + at, out->length - at + 1);
        out->length -= at - from;
}

static void text_when(const struct transactions *t, const struct transaction *x, struct str *out)
{
        const struct ledger_event *e = x->event;
        const struct profile_thread *thread = transactions_thread(t, e);
        size_t start;

        transactions_number(out, x->number, 12, ' ');
        transactions_number(out, e->ms / 1000, 7, ' ');
        str_char(out, '.');
        transactions_number(out, e->ms % 1000, 3, '0');
        str_text(out, "  ");
        start = out->length;
        text_name(out, thread->name);
        str_char(out, ' ');
        transactions_number(out, thread->tid, 1, ' ');
        text_pad(out, start, 22);
}

static void text_put(struct transactions *t, const struct transaction *x, struct str *out)
{
        size_t start;

        text_when(t, x, out);
        start = out->length;
        str_text(out, transactions_word(t, x->event));
        text_pad(out, start, 15);
        start = out->length;
        text_address(x, out);
        text_pad(out, start, 16);
        start = out->length;
        text_amount(x, out);
        text_pad(out, start, 13);
        start = out->length;
        text_what(t, x, out);
        str_char(out, '\n');
        if (out->data[start] == '\n')
                drop_spaces(out, start);
}

const struct transactions_writer transactions_text = { text_head, text_put, NULL };

/* ---- CSV ---- */

static void csv_head(struct transactions *t, struct str *out)
{
        (void)t;
        csv_names(out, "event,ms,thread,tid,what,kind,address,size,of_event,site,caller,stack");
}

static void csv_frame(const struct transactions *t, uint32_t node, const struct symbol_frame *frame,
                      uint32_t index, struct str *out)
{
        str_text(out, index ? ";" : "");
        label_function(t->profile, node, frame, out);
}

/* In place of a stack. */
static const char *csv_name(const struct transactions *t, const struct ledger_event *e,
                            char name[static 17])
{
        switch (e->type) {
        case LEDGER_EVENT_THREAD_NAME:
                return thread_name(e, name);
        case LEDGER_EVENT_MARK:
                return transactions_label(t, e);
        case LEDGER_EVENT_MODULE:
                return transactions_module(t, e);
        }
        return "";
}

static const char *csv_what(const struct transactions *t, const struct ledger_event *e)
{
        if (e->type == LEDGER_EVENT_ALLOC)
                return "alloc";
        return e->type == LEDGER_EVENT_MAP ? "mmap" : transactions_word(t, e);
}

static bool csv_has_kind(const struct ledger_event *e)
{
        return e->type != LEDGER_EVENT_MARK && e->type != LEDGER_EVENT_BAD_FREE &&
               e->kind != LEDGER_KIND_NONE;
}

static bool csv_has_caller(const struct ledger_event *e)
{
        return e->type == LEDGER_EVENT_FREE || e->type == LEDGER_EVENT_TAKE ||
               e->type == LEDGER_EVENT_RELEASE || e->type == LEDGER_EVENT_BAD_FREE;
}

static void csv_address(struct str *out, bool known, uint64_t address)
{
        if (known)
                transactions_hex(out, address);
        str_char(out, ',');
}

static void csv_block(const struct transaction *x, struct str *out)
{
        const struct ledger_event *e = x->event;

        if (e->type == LEDGER_EVENT_THREAD_NAME) {
                str_text(out, ",,,,,");
                return;
        }
        if (x->block) {
                csv_address(out, true, x->block->address);
                csv_number(out, x->block->size);
                csv_number(out, x->block->number);
                csv_number(out, x->block->site);
        } else {
                csv_address(out, true, e->address);
                csv_signed(out, csv_has_caller(e) ? 0 : (int64_t)e->size);
                csv_text(out, "");
                csv_number(out, csv_has_caller(e) ? 0 : e->site);
        }
        csv_address(out, csv_has_caller(e), e->size);
}

static void csv_put(struct transactions *t, const struct transaction *x, struct str *out)
{
        const struct ledger_event *e = x->event;
        const struct profile_thread *thread = transactions_thread(t, e);
        char buffer[17];
        const char *name = csv_name(t, e, buffer);

        csv_number(out, x->number);
        csv_number(out, e->ms);
        csv_text(out, thread->name);
        csv_number(out, thread->tid);
        csv_text(out, csv_what(t, e));
        csv_text(out, csv_has_kind(e) ? profile_kind_name(t->profile, e->kind) : "");
        csv_block(x, out);
        csv_text(out, *name ? name : transactions_stack(t, x->node, csv_frame));
        csv_end(out);
}

const struct transactions_writer transactions_csv = { csv_head, csv_put, NULL };
