/* SPDX-License-Identifier: MIT */
#include "report/transactions.h"

#include <stdlib.h>

#include "base/heap.h"
#include "query/calltree.h"
#include "report/transactions_parts.h"
#include "words/label.h"

#define FRAMES_SHORT 3u /* of a stack on one line */

static const struct transactions_writer *const writers[] = {
        [TRANSACTIONS_TEXT] = &transactions_text,
        [TRANSACTIONS_CSV] = &transactions_csv,
        [TRANSACTIONS_MEMTRAQ] = &transactions_memtraq,
        [TRANSACTIONS_MMLEAK] = &transactions_mmleak,
};

void transactions_free(struct transactions *t)
{
        for (uint32_t i = 0; t->stacks && i < t->profile->node_count; i++)
                free(t->stacks[i]);
        free(t->stacks);
        free(t->starts);
        fold_free(t->fold);
        t->fold = NULL;
        t->stacks = NULL;
        t->starts = NULL;
}

void transactions_load(struct transactions *t, const struct ledger_event *e)
{
        if (e->address >= t->profile->module_count)
                return;
        if (!t->starts)
                t->starts = heap_zero(t->profile->module_count, sizeof *t->starts);
        t->starts[e->address] = e->size;
}

void transactions_head(struct transactions *t, struct str *out)
{
        if (writers[t->format]->head)
                writers[t->format]->head(t, out);
}

void transactions_end(struct transactions *t, struct str *out)
{
        if (writers[t->format]->end)
                writers[t->format]->end(t, out);
}

void transactions_number(struct str *out, uint64_t value, unsigned width, char pad)
{
        char digits[24];
        size_t at = sizeof digits;

        do
                digits[--at] = (char)('0' + value % 10);
        while (value /= 10);
        while (sizeof digits - at < width && at)
                digits[--at] = pad;
        str_bytes(out, digits + at, sizeof digits - at);
}

void transactions_hex(struct str *out, uint64_t value)
{
        char digits[18];
        size_t at = sizeof digits;

        do
                digits[--at] = "0123456789abcdef"[value & 15];
        while (value >>= 4);
        digits[--at] = 'x';
        digits[--at] = '0';
        str_bytes(out, digits + at, sizeof digits - at);
}

/* ---- what an event is about ---- */

static uint32_t site_node(const struct profile *p, uint32_t site)
{
        return site < p->site_count ? p->sites[site].node : 0;
}

static void find_block(const struct transactions *t, const struct replay *before,
                       struct transaction *x)
{
        const struct ledger_event *e = x->event;

        if (e->type == LEDGER_EVENT_FREE || e->type == LEDGER_EVENT_TAKE)
                x->block = replay_find(before, e->address, e->kind);
        if (e->type == LEDGER_EVENT_PUT_BACK)
                x->block = replay_taken(before, e->thread);
        if (x->block)
                x->node = site_node(t->profile, x->block->site);
}

void transactions_put(struct transactions *t, const struct replay *before, uint64_t number,
                      const struct ledger_event *e, struct str *out)
{
        struct transaction x = { .event = e, .number = number };

        switch (e->type) {
        case LEDGER_EVENT_ALLOC:
        case LEDGER_EVENT_MOVE:
        case LEDGER_EVENT_MAP:
        case LEDGER_EVENT_ACQUIRE:
        case LEDGER_EVENT_CARVE:
                x.node = site_node(t->profile, e->site);
                break;
        case LEDGER_EVENT_BAD_FREE:
                x.node = e->site < t->profile->node_count ? e->site : 0;
                break;
        default:
                find_block(t, before, &x);
        }
        writers[t->format]->put(t, &x, out);
}

/* ---- words ---- */

const struct profile_thread *transactions_thread(const struct transactions *t,
                                                 const struct ledger_event *e)
{
        static char unknown_name[] = "-";
        static const struct profile_thread unknown = { .name = unknown_name };

        if (e->thread == 0 || e->thread >= t->profile->thread_count)
                return &unknown;
        return &t->profile->threads[e->thread];
}

static const char *mark_word(uint32_t type)
{
        static const char *const words[] = {
                [LEDGER_MARK_NONE] = "mark",         [LEDGER_MARK_TAG] = "tag",
                [LEDGER_MARK_SNAPSHOT] = "snapshot", [LEDGER_MARK_SIGNAL] = "snapshot",
                [LEDGER_MARK_LIMIT] = "limit",       [LEDGER_MARK_HEAP] = "snapshot",
                [LEDGER_MARK_EXIT] = "exit",         [LEDGER_MARK_ENABLE] = "enable",
                [LEDGER_MARK_DISABLE] = "disable",
        };

        return type < sizeof words / sizeof *words ? words[type] : "mark";
}

static const char *bad_free_word(uint32_t error)
{
        static const char *const words[] = {
                [LEDGER_ERROR_NONE] = "bad-free",
                [LEDGER_ERROR_DOUBLE_FREE] = "double-free",
                [LEDGER_ERROR_MISMATCHED] = "mismatched",
                [LEDGER_ERROR_UNKNOWN_FREE] = "unknown-free",
        };

        return error < sizeof words / sizeof *words ? words[error] : "bad-free";
}

const char *transactions_word(const struct transactions *t, const struct ledger_event *e)
{
        static const char *const words[LEDGER_EVENT_TYPES] = {
                [LEDGER_EVENT_FREE] = "free",
                [LEDGER_EVENT_TAKE] = "realloc-from",
                [LEDGER_EVENT_MOVE] = "realloc-to",
                [LEDGER_EVENT_PUT_BACK] = "realloc-failed",
                [LEDGER_EVENT_UNMAP] = "munmap",
                [LEDGER_EVENT_UNMAP_FAILED] = "munmap-failed",
                [LEDGER_EVENT_THREAD] = "thread",
                [LEDGER_EVENT_THREAD_END] = "thread-end",
                [LEDGER_EVENT_MODULE] = "module",
                [LEDGER_EVENT_CARVE] = "carve",
                [LEDGER_EVENT_THREAD_NAME] = "thread-name",
        };

        switch (e->type) {
        case LEDGER_EVENT_ALLOC:
        case LEDGER_EVENT_MAP:
                return profile_kind_name(t->profile, e->kind);
        case LEDGER_EVENT_ACQUIRE:
                return "acquire";
        case LEDGER_EVENT_RELEASE:
                return "release";
        case LEDGER_EVENT_MARK:
                return mark_word(e->kind);
        case LEDGER_EVENT_BAD_FREE:
                return bad_free_word(e->kind);
        }
        return e->type < LEDGER_EVENT_TYPES && words[e->type] ? words[e->type] : "unknown";
}

/* Mark I of the ledger begins era I + 1. */
const char *transactions_label(const struct transactions *t, const struct ledger_event *e)
{
        const struct profile *p = t->profile;

        for (uint32_t i = 0; i < p->mark_count; i++)
                if (p->marks[i].era == e->address + 1)
                        return p->marks[i].label;
        return "";
}

const char *transactions_module(const struct transactions *t, const struct ledger_event *e)
{
        return e->address < t->profile->module_count ? t->profile->modules[e->address].path : "";
}

/* ---- stacks ---- */

static void write_stack(struct transactions *t, uint32_t node, transactions_frame *each,
                        struct str *out)
{
        const struct selection whole = { .profile = t->profile, .wrappers = t->wrappers,
                                         .fold = t->fold };
        struct wrapper_frame from = select_trim(&whole, t->symbols, node);
        struct calltree calls;
        uint32_t at;

        calltree_start_small(&calls, t->profile, t->symbols, CALLTREE_BY_PLACE);
        at = calltree_add(&calls, &whole, NULL, from);
        for (uint32_t i = 0; (t->whole || i < FRAMES_SHORT) && at;
             i++, at = calls.nodes.list[at].parent) {
                const struct calltree_frame *frame = &calls.frames[calls.nodes.list[at].frame];

                each(t, frame->node, frame->names, i, out);
        }
        calltree_free(&calls);
}

static void write_addresses(const struct profile *p, uint32_t node, struct str *out)
{
        for (; node > LEDGER_NODE_CUT; node = p->nodes[node].parent) {
                str_char(out, ';');
                transactions_hex(out, p->nodes[node].pc);
        }
}

const char *transactions_stack(struct transactions *t, uint32_t node, transactions_frame *each)
{
        struct str text = { 0 };

        if (node <= LEDGER_NODE_CUT || node >= t->profile->node_count)
                return "";
        if (!t->stacks)
                t->stacks = heap_zero(t->profile->node_count, sizeof *t->stacks);
        if (!t->stacks[node]) {
                if (each)
                        write_stack(t, node, each, &text);
                else
                        write_addresses(t->profile, node, &text);
                t->stacks[node] = heap_text(str_get(&text));
                str_free(&text);
        }
        return t->stacks[node];
}

void transactions_place(const struct transactions *t, uint64_t address, struct str *out)
{
        const struct profile *p = t->profile;

        for (uint32_t i = 0; i < p->module_count; i++) {
                const struct profile_module *m = &p->modules[i];
                /* Where it is in the profile. */
                uint64_t there = address -
                                 (t->starts && t->starts[i] ? t->starts[i] - m->start : 0);

                if (there < m->start || there >= m->end || (m->flags & LEDGER_MODULE_ANONYMOUS))
                        continue;
                str_text(out, label_base(m->path));
                str_char(out, '+');
                transactions_hex(out, there - m->bias);
                return;
        }
        transactions_hex(out, address);
}
