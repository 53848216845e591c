/* SPDX-License-Identifier: MIT */
/*
 * heaptrack.c -- every allocation and release as heaptrack 1.4 stores them (file version 3): heaptrack_print and heaptrack_gui read it.
 *
 * Room:   outside.
 * Keeps:  goes out as it is made; memory is that of the live blocks and of what was named so far.  All numbers are hexadecimal, indices begin with
 *         1 (those of allocations with 0).
 */
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/heap.h"
#include "export/course.h"
#include "export/frames.h"
#include "export/log.h"
#include "export/stacks.h"
#include "export/strings.h"

#define NO_INFO UINT32_MAX

/* An allocation by its size and stack.  heaptrack takes a release for temporary when it is of the kind that came last, and any of kind 0 that
 * follows a release: so there is none of kind 0, and each kind is there twice; a release that is not temporary is told of the other one. */
struct info {
        uint64_t size;
        uint32_t trace, number; /* number and number + 1 */
        bool used;
};

struct heaptrack {
        const struct export_input *in;
        struct str *out;
        struct strings strings;
        struct frames frames; /* for the one number of an address */
        uint32_t *ips;        /* by that number: index of its line; 0 not yet */
        uint32_t ip_room, ip_count;
        uint32_t *traces; /* by node; 0 not yet */
        uint32_t trace_count;
        struct info *infos; /* open addressing, at most half full */
        uint64_t info_room;
        uint32_t info_count;
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
        stacks_plain_text(text, "", ' ', &plain);
        number = strings_number(&h->strings, str_get(&plain));
        if (number == before) {
                str_char(h->out, 's');
                put_hex(h->out, ' ', plain.length);
                str_format(h->out, " %s\n", str_get(&plain));
        }
        str_free(&plain);
        return number + 1;
}

static void put_ip(struct heaptrack *h, uint32_t node)
{
        const struct profile *p = h->in->profile;
        const struct profile_node *n = &p->nodes[node];
        const struct symbol_frame *frames;
        uint32_t count = symbols_node(h->in->symbols, node, &frames), module;
        struct str line = { 0 };

        module = string_of(h, n->module < p->module_count ? p->modules[n->module].path : NULL);
        put_hex(&line, ' ', n->pc - !n->exact);
        put_hex(&line, ' ', module);
        for (uint32_t i = 0; i < count && frames[i].function; i++) {
                put_hex(&line, ' ', string_of(h, frames[i].function));
                put_hex(&line, ' ', string_of(h, frames[i].file));
                put_hex(&line, ' ', frames[i].line);
        }
        str_format(h->out, "i%s\n", str_get(&line));
        str_free(&line);
}

static uint32_t ip_of(struct heaptrack *h, uint32_t node)
{
        uint32_t place = h->frames.place[node];

        if (place >= h->ip_room) {
                uint32_t room = 2 * place + 64;

                h->ips = heap_grow(h->ips, room, sizeof *h->ips);
                for (uint32_t i = h->ip_room; i < room; i++)
                        h->ips[i] = 0;
                h->ip_room = room;
        }
        if (!h->ips[place]) {
                put_ip(h, node);
                h->ips[place] = ++h->ip_count;
        }
        return h->ips[place];
}

/* The index of the stack of NODE; callers have smaller ones.  0 is no stack. */
static uint32_t trace_of(struct heaptrack *h, uint32_t node)
{
        const struct profile_node *nodes = h->in->profile->nodes;
        uint32_t count = 0, *path;

        if (node <= LEDGER_NODE_CUT || h->traces[node])
                return node <= LEDGER_NODE_CUT ? 0 : h->traces[node];
        for (uint32_t at = node; at > LEDGER_NODE_CUT && !h->traces[at]; at = nodes[at].parent)
                count++;
        path = heap_zero(count, sizeof *path);
        for (uint32_t at = node, i = count; i; at = nodes[at].parent)
                path[--i] = at;
        frames_meet(&h->frames, h->frames.whose, node);
        for (uint32_t i = 0; i < count; i++) {
                uint32_t ip = ip_of(h, path[i]), parent = nodes[path[i]].parent;

                str_char(h->out, 't');
                put_hex(h->out, ' ', ip);
                put_hex(h->out, ' ', parent > LEDGER_NODE_CUT ? h->traces[parent] : 0);
                str_char(h->out, '\n');
                h->traces[path[i]] = ++h->trace_count;
        }
        free(path);
        return h->traces[node];
}

/* ---- allocations ---- */

static struct info *info_slot(const struct heaptrack *h, uint64_t size, uint32_t trace)
{
        uint64_t hash = (size ^ (uint64_t)trace << 40 ^ trace) * 0x9e3779b97f4a7c15ull;
        uint64_t i = (hash ^ hash >> 32) & (h->info_room - 1);

        while (h->infos[i].used && (h->infos[i].size != size || h->infos[i].trace != trace))
                i = (i + 1) & (h->info_room - 1);
        return &h->infos[i];
}

static void info_widen(struct heaptrack *h)
{
        struct info *old = h->infos;
        uint64_t room = h->info_room;

        h->info_room = room ? 2 * room : 1024;
        h->infos = heap_zero(h->info_room, sizeof *h->infos);
        for (uint64_t i = 0; i < room; i++)
                if (old[i].used)
                        *info_slot(h, old[i].size, old[i].trace) = old[i];
        free(old);
}

static uint32_t info_of(struct heaptrack *h, uint64_t size, uint32_t trace)
{
        struct info *info;

        if (h->info_count >= h->info_room / 2)
                info_widen(h);
        info = info_slot(h, size, trace);
        if (!info->used) {
                *info = (struct info){ size, trace, 2 * h->info_count + 1, true };
                for (int i = h->info_count++ ? 1 : 0; i < 3; i++) {
                        str_char(h->out, 'a');
                        put_hex(h->out, ' ', size);
                        put_hex(h->out, ' ', trace);
                        str_char(h->out, '\n');
                }
        }
        return info->number;
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
        uint32_t number = info_of(h, e->size, trace_of(h, h->in->profile->sites[e->site].node));

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
                stacks_plain_text(meta->args[i], "", ' ', h->out);
        }
        str_text(h->out, "\nI");
        put_hex(h->out, ' ', (uint64_t)sysconf(_SC_PAGESIZE));
        put_hex(h->out, ' ', (uint64_t)sysconf(_SC_PHYS_PAGES));
        str_char(h->out, '\n');
}

bool export_heaptrack(const struct export_input *in, struct str *out, struct err *e)
{
        const struct selection whole = { .profile = in->profile, .node_count = in->profile->node_count };
        struct heaptrack h = { .in = in, .out = out, .newest = NO_INFO };
        struct log log;
        struct log_event event;
        struct span span;
        bool good = log_open(&log, in, e) && span_make(&span, in, e), wanted;

        if (good) {
                h.traces = heap_zero(in->profile->node_count, sizeof *h.traces);
                frames_start(&h.frames, &whole, in->symbols);
                put_head(&h);
                while ((wanted = export_more(in, out)) && log_next(&log, &event))
                        put_event(&h, &event);
                put_time(&h, span.to_ms);
                if (wanted && !log.ended)
                        export_remark_cut(in, log.events);
                frames_free(&h.frames);
        }
        log_close(&log);
        strings_free(&h.strings);
        free(h.ips);
        free(h.traces);
        free(h.infos);
        return good;
}
