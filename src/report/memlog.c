/* SPDX-License-Identifier: MIT */
#include "report/memlog.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/heap.h"
#include "base/order.h"
#include "ledger/ledger.h"
#include "query/diff.h"
#include "words/label.h"

struct memlog_row {
        struct wrapper_frame from; /* of the selection's tree */
        int64_t weight;
};

static const char *module_path(const struct profile *p, uint32_t node)
{
        uint16_t module = p->nodes[node].module;

        return module < p->module_count ? p->modules[module].path : NULL;
}

static void memlog_line(const struct stack_writer *w, uint32_t node,
                        const struct symbol_frame *frame)
{
        const struct profile *p = w->sel->profile;
        const char *path = module_path(p, node);

        str_char(w->out, '\t');
        if (symbol_name(frame)) {
                str_text(w->out, frame->function);
                str_text(w->out, "\t(");
                str_text(w->out, path ? path : "unknown");
                str_char(w->out, ')');
        } else if (path) {
                str_text(w->out, path);
        } else {
                label_function(p, node, frame, w->out);
        }
        if (symbol_name(frame) && frame->file && frame->line)
                str_format(w->out, "\t%s:%" PRIu32, frame->file, frame->line);
        str_char(w->out, '\n');
}

void memlog_start(struct stack_writer *w, const struct selection *sel, struct symbols *s,
                  struct str *out)
{
        stack_start(w, sel, s, "", out);
        w->line = memlog_line;
        w->cut_off = "\t[stack lost]\n";
}

void memlog_add(struct stack_writer *w, struct wrapper_frame from, int64_t number)
{
        str_format(w->out, "%+" PRId64 "\n", number);
        stack_add(w, from);
        str_drain(w->out);
}

ORDER_BY(by_node, struct memlog_row, from.node)

static int by_weight(const void *a, const void *b)
{
        const struct memlog_row *x = a, *y = b;
        int order = diff_order(x->weight, y->weight);

        return order ? order : by_node(a, b);
}

static int by_size(const void *a, const void *b)
{
        const struct memlog_row *x = a, *y = b;
        int order = diff_order_abs(x->weight, y->weight);

        return order ? order : by_node(a, b);
}

/* One entry per stack, whatever the kinds; those that come to nothing are dropped.
 * Returns how many are left. */
static uint32_t memlog_merge(struct memlog_row *entries, uint32_t count, bool abs)
{
        uint32_t merged = 0, kept = 0;

        qsort(entries, count, sizeof *entries, by_node);
        for (uint32_t i = 0; i < count; i++) {
                if (merged && entries[merged - 1].from.node == entries[i].from.node)
                        entries[merged - 1].weight = diff_sum(entries[merged - 1].weight,
                                                              entries[i].weight);
                else
                        entries[merged++] = entries[i];
        }
        for (uint32_t i = 0; i < merged; i++)
                if (entries[i].weight)
                        entries[kept++] = entries[i];
        qsort(entries, kept, sizeof *entries, abs ? by_size : by_weight);
        return kept;
}

void memlog_selection(const struct selection *sel, struct symbols *s,
                      const struct memlog_options *options, struct str *out)
{
        struct memlog_row *entries = heap_zero(sel->heap.count, sizeof *entries);
        uint32_t count = sel->heap.count;
        struct stack_writer w;

        for (uint32_t i = 0; i < count; i++) {
                const struct select_row *row = &sel->heap.rows[i];

                entries[i] = (struct memlog_row){ { row->node, row->level },
                                                  select_weight(sel, row->bytes, row->count) };
        }
        count = memlog_merge(entries, count, options->abs);
        memlog_start(&w, sel, s, out);
        for (uint32_t i = 0; i < count && (!options->limit || i < options->limit); i++) {
                if (i + STACK_AHEAD < count)
                        stack_expect(&w, entries[i + STACK_AHEAD].from.node);
                memlog_add(&w, entries[i].from, entries[i].weight);
        }
        stack_end(&w);
        free(entries);
}

/* SIGN 1 adds, UINT64_MAX subtracts what was live at a slice. */
static void add_slice(struct select_row *rows, const struct profile *p, uint32_t slice,
                      uint64_t sign)
{
        struct profile_change *then = heap_zero(p->site_count, sizeof *then);

        if (profile_at_slice(p, slice, then))
                for (uint32_t i = 1; i < p->site_count; i++)
                        rows[i].bytes += sign * then[i].live_bytes;
        free(then);
}

void memlog_write(const struct profile *p, struct symbols *s, const struct memlog_range *range,
                  struct str *out)
{
        struct select_row *rows = heap_zero(p->site_count, sizeof *rows);
        struct selection sel = { .profile = p, .cost = SELECT_LIVE, .node_count = p->node_count };

        if (range->from != MEMLOG_START)
                add_slice(rows, p, range->from, UINT64_MAX);
        add_slice(rows, p, range->to, 1);
        sel.heap.rows = rows;
        for (uint32_t i = 1; i < p->site_count; i++)
                if (PROFILE_KIND_IS_COUNTED(p->sites[i].kind)) {
                        rows[sel.heap.count] = rows[i]; /* at most i: nothing unread is lost */
                        rows[sel.heap.count++].node = p->sites[i].node;
                }
        memlog_selection(&sel, s, &(struct memlog_options){ 0 }, out);
        select_free(&sel);
}
