/* SPDX-License-Identifier: MIT */
/*
 * heaptrack.c -- every allocation and free as heaptrack 1.4 stores them (file version 3):
 * heaptrack_print and heaptrack_gui read it.
 *
 * Keeps:  goes out as it is made; memory is that of the live blocks and of what was named so far.
 *         All numbers are hexadecimal, indices begin with 1 (those of allocations with 0).
 */
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/lookup.h"
#include "export/course.h"
#include "export/log.h"
#include "export/stack_costs.h"
#include "export/strings.h"
#include "query/calltree.h"

#define NO_INFO UINT32_MAX

struct heaptrack {
        const struct export_input *in;
        struct str *out;
        struct strings strings;
        struct calltree tree; /* by place */
        uint32_t *ends;       /* by site: the node that is its stack; 0 none */
        uint32_t *ips;        /* by frame: index of its line; 0 not yet */
        uint32_t *traces;     /* by node; 0 not yet */
        uint32_t ip_count, trace_count;
        struct lookup infos; /* by size and trace */
        uint32_t newest; /* number of the info that came last; NO_INFO */
        uint32_t slice;  /* the next whose RSS is to be told */
        uint64_t ms;
};

static void put_hex(struct str *out, char before, uint64_t value)
{
        char digits[17];
        size_t at = sizeof digits;

        do
                digits[--at] = "0123456789abcdef"[value & 15];
        while (value >>= 4);
        digits[--at] = before;
        str_bytes(out, digits + at, sizeof digits - at);
}

/* ---- names ---- */

/* The index of TEXT; 0 for NULL. */
static uint32_t string_of(struct heaptrack *h, const char *text)
{
        struct str plain = { 0 };
        uint32_t before = h->strings.count, number;

        if (!text || !*text)
                return 0;
        stack_costs_plain_text(text, "", ' ', &plain);
        number = strings_number(&h->strings, str_get(&plain));
        if (number == before) {
                str_char(h->out, 's');
                put_hex(h->out, ' ', plain.length);
                str_format(h->out, " %s\n", str_get(&plain));
        }
        str_free(&plain);
        return number + 1;
}

/* A function with those that it is inlined into: all that is at an address, but for hidden
 * wrappers. */
static void put_ip(struct heaptrack *h, uint32_t frame)
{
        const struct profile *p = h->in->profile;
        const struct calltree_frame *f = &h->tree.frames[frame];
        const struct profile_node *n = &p->nodes[f->node];
        const struct symbol_frame *names = f->names;
        uint32_t module = string_of(h, n->module < p->module_count ? p->modules[n->module].path
                                                                   : NULL);
        struct str line = { 0 };

        put_hex(&line, ' ', n->pc - !n->exact);
        put_hex(&line, ' ', module);
        for (uint32_t left = f->rest; left && names->function; left--, names++) {
                put_hex(&line, ' ', string_of(h, names->function));
                put_hex(&line, ' ', string_of(h, names->file));
                put_hex(&line, ' ', names->line);
        }
        str_format(h->out, "i%s\n", str_get(&line));
        str_free(&line);
}

static uint32_t ip_of(struct heaptrack *h, uint32_t frame)
{
        if (!h->ips[frame]) {
                put_ip(h, frame);
                h->ips[frame] = ++h->ip_count;
        }
        return h->ips[frame];
}

/* The index of the stack that ends at NODE of the tree; callers have smaller ones.  0 is no
 * stack. */
static uint32_t trace_of(struct heaptrack *h, uint32_t node)
{
        uint32_t count = 0, *path;

        for (uint32_t at = node; at && !h->traces[at]; at = calltree_caller(&h->tree, at))
                count++;
        path = heap_zero(count, sizeof *path);
        for (uint32_t at = node, i = count; i; at = calltree_caller(&h->tree, at))
                path[--i] = at;
        for (uint32_t i = 0; i < count; i++) {
                uint32_t ip = ip_of(h, h->tree.nodes.list[path[i]].frame);

                str_char(h->out, 't');
                put_hex(h->out, ' ', ip);
                put_hex(h->out, ' ', h->traces[calltree_caller(&h->tree, path[i])]);
                str_char(h->out, '\n');
                h->traces[path[i]] = ++h->trace_count;
        }
        free(path);
        return h->traces[node];
}

/* All stacks, as they are shown. */
static void make_tree(struct heaptrack *h)
{
        const struct profile *p = h->in->profile;
        const struct selection whole = { .profile = p };
        uint32_t *known = heap_zero(p->node_count, sizeof *known);

        calltree_start(&h->tree, p, h->in->symbols, CALLTREE_BY_PLACE);
        h->ends = heap_zero(p->site_count, sizeof *h->ends);
        for (uint32_t i = 1; i < p->site_count; i++)
                if (p->sites[i].node > LEDGER_NODE_CUT) {
                        struct wrapper_frame from = wrappers_trim(h->in->sel->wrappers, p,
                                                                  h->in->symbols, p->sites[i].node);

                        h->ends[i] = calltree_add(&h->tree, &whole, known, from);
                }
        free(known);
        calltree_settle(&h->tree);
        h->ips = heap_zero(h->tree.frame_count, sizeof *h->ips);
        h->traces = heap_zero(h->tree.nodes.count, sizeof *h->traces);
}

/* ---- allocations ---- */

/* An allocation by its size and stack.  heaptrack takes a release for temporary when it is of the
 * kind that came last, and any of kind 0 that follows a release: so there is none of kind 0, and
 * each kind is there twice; a release that is not temporary is told of the other one. */
static uint32_t info_of(struct heaptrack *h, uint64_t size, uint32_t trace)
{
        uint32_t before = h->infos.table.count, number = lookup_number(&h->infos, size, trace);

        if (number == before)
                for (int i = number ? 1 : 0; i < 3; i++) {
                        str_char(h->out, 'a');
                        put_hex(h->out, ' ', size);
                        put_hex(h->out, ' ', trace);
                        str_char(h->out, '\n');
                }
        return 2 * number + 1;
}

static void put_time(struct heaptrack *h, uint64_t ms)
{
        const struct profile *p = h->in->profile;
        uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);

        if (ms <= h->ms)
                return;
        h->ms = ms;
        str_char(h->out, 'c');
        put_hex(h->out, ' ', ms);
        for (; h->slice < p->slice_count && p->slices[h->slice].ms <= ms; h->slice++)
                if (h->slice + 1 == p->slice_count || p->slices[h->slice + 1].ms > ms) {
                        str_text(h->out, "\nR");
                        put_hex(h->out, ' ', p->slices[h->slice].rss_bytes / page_bytes);
                }
        str_char(h->out, '\n');
}

static void put_event(struct heaptrack *h, const struct log_event *e)
{
        uint32_t number = info_of(h, e->size, trace_of(h, h->ends[e->site]));

        put_time(h, e->ms);
        if (!e->came && number == h->newest && !e->temporary)
                number++;
        str_char(h->out, e->came ? '+' : '-');
        put_hex(h->out, ' ', number);
        str_char(h->out, '\n');
        h->newest = e->came ? number : NO_INFO;
}

static void put_head(struct heaptrack *h)
{
        const struct profile_meta *meta = &h->in->profile->meta;

        str_text(h->out, "v 10400 3\nX");
        for (uint32_t i = 0; i < meta->arg_count; i++) {
                str_char(h->out, ' ');
                stack_costs_plain_text(meta->args[i], "", ' ', h->out);
        }
        str_text(h->out, "\nI");
        put_hex(h->out, ' ', (uint64_t)sysconf(_SC_PAGESIZE));
        put_hex(h->out, ' ', (uint64_t)sysconf(_SC_PHYS_PAGES));
        str_char(h->out, '\n');
}

bool export_heaptrack(const struct export_input *in, struct str *out, struct err *e)
{
        struct heaptrack h = { .in = in, .out = out, .newest = NO_INFO };
        struct log log;
        struct log_event event;
        struct course_span span;
        bool good = log_open(&log, in, e) && span_make(&span, in, e), wanted;

        if (good) {
                make_tree(&h);
                put_head(&h);
                while ((wanted = export_more(in, out)) && log_next(&log, &event))
                        put_event(&h, &event);
                put_time(&h, span.to_ms);
                if (wanted && !log.ended)
                        export_remark_cut(in, log.events);
                calltree_free(&h.tree);
        }
        log_close(&log);
        strings_free(&h.strings);
        free(h.ends);
        free(h.ips);
        free(h.traces);
        lookup_free(&h.infos);
        return good;
}
