/* SPDX-License-Identifier: MIT */
/*
 * owners.c -- the heap by owner, or by what the blocks of a call stack keep.
 *
 * Room:   outside.
 * Keeps:  owners, what they share, what is ignored and what is lost add up to the whole heap.  Sites do not: one may keep another's.
 */
#include "report/owners.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/json.h"
#include "leak/graph.h"
#include "report/holder.h"
#include "report/maker.h"
#include "report/text.h"

enum {
        OWNERS_SCREEN = 20, /* rows, unless asked for more */
        OWNERS_EXACT = 64   /* sites at least whose sums are found exactly */
};

struct owner {
        struct holder holder; /* of the first pointer that belongs to it */
        struct holder_key key;
        uint64_t pointers;
        struct graph_sum kept;
};

struct owners {
        const struct profile *p;
        struct symbols *s;
        const struct owners_options *o;
        struct str *out;
        struct graph *graph;
        struct graph_sum all; /* the heap */
        struct owner *list;
        uint32_t count;
        uint32_t *table; /* 1 + index, by key; open addressing */
        uint32_t room;
};

/* ---- owners ---- */

static uint32_t *owner_slot(const struct owners *w, struct holder_key key)
{
        uint64_t hash = (key.what * 0x9e3779b97f4a7c15ull) ^ (key.whose * 0xc2b2ae3d27d4eb4full);
        uint32_t i = (uint32_t)(hash ^ hash >> 32) & (w->room - 1);

        while (w->table[i] && (w->list[w->table[i] - 1].key.what != key.what || w->list[w->table[i] - 1].key.whose != key.whose))
                i = (i + 1) & (w->room - 1);
        return &w->table[i];
}

static void owners_widen(struct owners *w)
{
        w->room = w->room ? w->room * 2 : 256;
        free(w->table);
        w->table = heap_zero(w->room, sizeof *w->table);
        w->list = heap_grow(w->list, w->room / 2, sizeof *w->list);
        for (uint32_t i = 0; i < w->count; i++)
                *owner_slot(w, w->list[i].key) = i + 1;
}

static uint32_t owner_of(struct owners *w, uint64_t hold)
{
        struct holder holder = holder_of(w->p, w->s, hold);
        struct holder_key key = holder_key(w->p, &holder);
        uint32_t *slot;

        if (w->count >= w->room / 2)
                owners_widen(w);
        slot = owner_slot(w, key);
        if (!*slot) {
                w->list[w->count] = (struct owner){ .holder = holder, .key = key };
                *slot = ++w->count;
        }
        w->list[*slot - 1].pointers++;
        return *slot - 1;
}

static int more_kept(const struct graph_sum *a, const struct graph_sum *b)
{
        if (a->bytes != b->bytes)
                return a->bytes > b->bytes ? -1 : 1;
        return a->blocks > b->blocks ? -1 : a->blocks < b->blocks;
}

static int compare_owners(const void *a, const void *b)
{
        const struct owner *x = a, *y = b;
        int order = more_kept(&x->kept, &y->kept);

        if (order)
                return order;
        if (x->key.what != y->key.what)
                return x->key.what < y->key.what ? -1 : 1;
        return x->holder.at < y->holder.at ? -1 : x->holder.at > y->holder.at;
}

/* ---- for people ---- */

static void add_row(const struct owners *w, struct graph_sum sum, struct str *out)
{
        struct str share = { 0 };

        text_share(&share, (double)sum.bytes, (double)w->all.bytes);
        str_format(out, "%7s", str_get(&share));
        str_free(&share);
        text_cell(out, 11, sum.bytes, text_size);
        text_cell(out, 12, sum.blocks, text_number);
        str_text(out, "  ");
}

static void add_rest(const struct owners *w, struct graph_sum sum, const char *what)
{
        if (!sum.blocks)
                return;
        add_row(w, sum, w->out);
        str_format(w->out, "%s\n", what);
}

static void add_title(const struct owners *w, const char *what, const char *column)
{
        str_format(w->out, "%s; in all ", what);
        text_size(w->out, (int64_t)w->all.bytes);
        str_text(w->out, " in ");
        text_count(w->out, (int64_t)w->all.blocks, "block");
        str_format(w->out, "\n%7s%11s%12s  %s\n", "share", "bytes", "blocks", column);
}

static uint32_t shown_of(const struct owners *w, uint32_t count)
{
        uint32_t limit = w->o->limit ? w->o->limit : w->o->json ? count : OWNERS_SCREEN;

        return limit < count ? limit : count;
}

static void owners_text(struct owners *w, uint32_t keeping, const struct graph_retained *r)
{
        uint32_t shown = shown_of(w, keeping);
        struct graph_sum others = { 0 };
        char text[64];

        add_title(w, "the heap by what keeps it", "owner");
        for (uint32_t i = 0; i < shown; i++) {
                add_row(w, w->list[i].kept, w->out);
                text_color(w->out, w->o->color, TEXT_CYAN);
                holder_owner(w->p, w->s, &w->list[i].holder, w->out);
                text_plain(w->out, w->o->color);
                str_char(w->out, '\n');
        }
        for (uint32_t i = shown; i < keeping; i++) {
                others.blocks += w->list[i].kept.blocks;
                others.bytes += w->list[i].kept.bytes;
        }
        snprintf(text, sizeof text, "%" PRIu32 " more owners (-n %" PRIu32 ")", keeping - shown, shown);
        add_rest(w, others, text);
        add_rest(w, r->shared, "kept by several of them together");
        add_rest(w, r->ignored, "SEEP_IGNORE");
        add_rest(w, r->lost, "lost: kept by nothing ('seep leaks' tells more)");
}

/* ---- for programs ---- */

static void json_sum(const char *before, const char *name, struct graph_sum sum, struct str *out)
{
        str_format(out, "%s\"%s\": ", before, name);
        json_field(out, "{\"", "blocks", sum.blocks);
        json_field(out, ", \"", "bytes", sum.bytes);
        str_char(out, '}');
}

static void json_head(const struct owners *w)
{
        str_text(w->out, "{\"seep\": 1, \"program\": ");
        json_text(w->out, w->p->meta.program);
        json_field(w->out, ", \"", "pid", w->p->meta.pid);
        json_sum(",\n ", "total", w->all, w->out);
}

static void owners_json(const struct owners *w, uint32_t keeping, const struct graph_retained *r)
{
        uint32_t shown = shown_of(w, keeping);

        json_head(w);
        str_text(w->out, ",\n \"owners\": [");
        for (uint32_t i = 0; i < shown; i++) {
                str_text(w->out, i ? ",\n  {" : "\n  {");
                holder_json(w->p, &w->list[i].holder, w->out);
                json_field(w->out, ", \"", "pointers", w->list[i].pointers);
                json_sum(", ", "retained", w->list[i].kept, w->out);
                str_char(w->out, '}');
        }
        str_char(w->out, ']');
        json_sum(",\n ", "shared", r->shared, w->out);
        json_sum(",\n ", "ignored", r->ignored, w->out);
        json_sum(",\n ", "lost", r->lost, w->out);
        str_text(w->out, "}\n");
}

static void write_owners(struct owners *w)
{
        uint32_t *of_hold = heap_zero(w->p->hold_count, sizeof *of_hold), keeping = 0;
        struct graph_owners owners = { .of_hold = of_hold };
        struct graph_retained r;

        for (uint64_t i = 0; i < w->p->hold_count; i++)
                of_hold[i] = owner_of(w, i);
        owners.count = w->count;
        graph_retain(w->graph, &owners, NULL, &r);
        for (uint32_t i = 0; i < w->count; i++)
                w->list[i].kept = r.by_owner[i];
        if (w->count)
                qsort(w->list, w->count, sizeof *w->list, compare_owners);
        while (keeping < w->count && w->list[keeping].kept.blocks)
                keeping++;
        if (w->o->json)
                owners_json(w, keeping, &r);
        else
                owners_text(w, keeping, &r);
        graph_retained_free(&r);
        free(of_hold);
}

/* ---- sites ---- */

struct owners_site {
        uint32_t site;
        struct graph_sum live, kept;
};

static int compare_sites(const void *a, const void *b)
{
        const struct owners_site *x = a, *y = b;
        int order = more_kept(&x->kept, &y->kept);

        return order ? order : (x->site < y->site ? -1 : x->site > y->site);
}

/* Sums that leave out what several blocks of a site keep together: what they tell is which sites are worth more. */
static uint32_t list_sites(struct owners *w, struct owners_site *list)
{
        const struct profile *p = w->p;
        uint32_t *of_hold = heap_zero(p->hold_count, sizeof *of_hold), *of_block = heap_zero(p->block_count, sizeof *of_block);
        struct graph_owners owners = { of_hold, GRAPH_LOST };
        struct graph_sets sets = { of_block, p->site_count };
        struct graph_retained r;
        uint32_t count = 0;

        for (uint64_t i = 0; i < p->hold_count; i++)
                of_hold[i] = graph_rank(p->roots[p->holds[i].from].kind);
        for (uint64_t i = 0; i < p->block_count; i++) {
                of_block[i] = p->blocks[i].site < p->site_count ? p->blocks[i].site : 0;
                list[of_block[i]].live.blocks++;
                list[of_block[i]].live.bytes += p->blocks[i].size;
        }
        graph_retain(w->graph, &owners, &sets, &r);
        for (uint32_t i = 0; i < p->site_count; i++)
                if (r.by_set[i].blocks)
                        list[count++] = (struct owners_site){ i, list[i].live, r.by_set[i] };
        qsort(list, count, sizeof *list, compare_sites);
        graph_retained_free(&r);
        free(of_hold);
        free(of_block);
        return count;
}

static void make_exact(struct owners *w, struct owners_site *list, uint32_t count)
{
        uint8_t *in_set = heap_zero(w->p->block_count, sizeof *in_set);

        for (uint32_t i = 0; i < count; i++) {
                for (uint64_t k = 0; k < w->p->block_count; k++)
                        in_set[k] = w->p->blocks[k].site == list[i].site;
                list[i].kept = graph_retained_by(w->graph, in_set);
        }
        qsort(list, count, sizeof *list, compare_sites);
        free(in_set);
}

static void sites_text(const struct owners *w, const struct owners_site *list, uint32_t shown)
{
        add_title(w, "what would go away with the blocks of a call stack", "site    own bytes  allocated by");
        for (uint32_t i = 0; i < shown; i++) {
                add_row(w, list[i].kept, w->out);
                str_format(w->out, "#%-5" PRIu32, list[i].site);
                text_cell(w->out, 11, list[i].live.bytes, text_size);
                str_text(w->out, "  ");
                maker_calls(w->p, w->s, list[i].site, w->out);
                str_char(w->out, '\n');
        }
}

static void sites_json(const struct owners *w, const struct owners_site *list, uint32_t shown)
{
        json_head(w);
        str_text(w->out, ",\n \"sites\": [");
        for (uint32_t i = 0; i < shown; i++) {
                struct maker maker = maker_of(w->p, w->s, list[i].site);

                json_field(w->out, i ? ",\n  {\"" : "\n  {\"", "id", list[i].site);
                str_text(w->out, ", \"function\": ");
                json_text(w->out, maker.frame->function);
                str_text(w->out, ", \"file\": ");
                json_text(w->out, maker.frame->file);
                json_field(w->out, ", \"", "line", maker.frame->line);
                json_sum(", ", "live", list[i].live, w->out);
                json_sum(", ", "retained", list[i].kept, w->out);
                str_char(w->out, '}');
        }
        str_text(w->out, "]}\n");
}

static void write_sites(struct owners *w)
{
        struct owners_site *list = heap_zero(w->p->site_count, sizeof *list);
        uint32_t count = list_sites(w, list), shown = shown_of(w, count);
        uint32_t exact = shown > OWNERS_EXACT ? shown : OWNERS_EXACT;

        make_exact(w, list, exact < count ? exact : count);
        if (w->o->json)
                sites_json(w, list, shown);
        else
                sites_text(w, list, shown);
        free(list);
}

void owners_write(const struct profile *p, struct symbols *s, const struct owners_options *o, struct str *out)
{
        struct owners w = { .p = p, .s = s, .o = o, .out = out, .graph = graph_new(p) };

        for (uint64_t i = 0; i < p->block_count; i++) {
                w.all.blocks++;
                w.all.bytes += p->blocks[i].size;
        }
        if (o->sites)
                write_sites(&w);
        else
                write_owners(&w);
        free(w.list);
        free(w.table);
        graph_free(w.graph);
}
