/* SPDX-License-Identifier: MIT */
/* owners_text.c -- the heap by what keeps it alive: owners, or call stacks; as text and as JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/heap.h"
#include "base/json.h"
#include "query/block_origin.h"
#include "query/owners.h"
#include "report/views.h"
#include "words/text.h"

enum {
        OWNERS_SCREEN = 20, /* rows, unless asked for more */
        OWNERS_NAMES = 3    /* owners that are named of those who keep something together */
};

static uint32_t owners_shown(const struct owners *w, uint32_t count)
{
        uint32_t limit = w->o->limit ? w->o->limit : w->o->json ? count : OWNERS_SCREEN;

        return limit < count ? limit : count;
}

/* ---- for people ---- */

static void owners_row(const struct owners *w, struct graph_sum sum)
{
        struct str share = { 0 };

        text_share(&share, (double)sum.bytes, (double)w->all.bytes);
        str_format(w->out, "%7s", str_get(&share));
        str_free(&share);
        text_cell(w->out, 11, sum.bytes, text_size);
        text_cell(w->out, 12, sum.blocks, text_number);
        str_text(w->out, "  ");
}

static void owners_title(const struct owners *w, const char *what, const char *column)
{
        str_format(w->out, "%s; in all ", what);
        text_size(w->out, (int64_t)w->all.bytes);
        str_text(w->out, " in ");
        text_count(w->out, (int64_t)w->all.blocks, "block");
        str_format(w->out, "\n%7s%11s%12s  %s\n", "share", "bytes", "blocks", column);
}

static void add_rest(const struct owners *w, struct graph_sum sum, const char *what)
{
        if (!sum.blocks)
                return;
        owners_row(w, sum);
        str_format(w->out, "%s\n", what);
}

/* "        of it  12.0 KiB  by conn_new [conn.c:20]" and who keeps it. */
static void add_part(const struct owners *w, const struct owners_part *part)
{
        uint32_t shown = part->count < OWNERS_NAMES ? part->count : OWNERS_NAMES;

        str_format(w->out, "%7s", "of it");
        text_cell(w->out, 11, part->kept.bytes, text_size);
        text_cell(w->out, 12, part->kept.blocks, text_number);
        str_text(w->out, "    allocated by ");
        block_origin_write(w->p, block_origin_of(w->p, w->s, part->site), 0, w->out);
        str_text(w->out, part->heads > 1 ? ", the largest kept by\n" : ", kept by\n");
        for (uint32_t i = 0; i < shown; i++) {
                str_format(w->out, "%36s", "");
                root_name_owner(w->p, w->s, &w->list[part->holders[i]].root_name, w->out);
                str_char(w->out, '\n');
        }
        if (shown < part->count)
                str_format(w->out, "%36sand %" PRIu32 " more\n", "", part->count - shown);
}

static void owners_text(struct owners *w)
{
        const struct graph_retained *r = &w->retained;
        uint32_t keeping = w->keeping, shown = owners_shown(w, keeping);
        struct graph_sum others = { 0 };
        char text[64];

        owners_title(w, "the heap by what keeps it alive", "owner");
        for (uint32_t i = 0; i < shown; i++) {
                size_t start = w->out->length;

                owners_row(w, w->list[i].kept);
                text_color(w->out, w->o->color, TEXT_CYAN);
                root_name_owner(w->p, w->s, &w->list[i].root_name, w->out);
                if (w->o->columns)
                        text_cut(w->out, start, w->o->columns);
                text_plain(w->out, w->o->color);
                str_char(w->out, '\n');
        }
        for (uint32_t i = shown; i < keeping; i++) {
                others.blocks += w->list[i].kept.blocks;
                others.bytes += w->list[i].kept.bytes;
        }
        snprintf(text, sizeof text, "%" PRIu32 " more owner%s (-n %" PRIu32 ")", keeping - shown,
                 keeping - shown == 1 ? "" : "s", shown);
        add_rest(w, others, text);
        add_rest(w, r->shared, "shared by several of them");
        for (uint32_t i = 0; i < w->part_count; i++)
                add_part(w, &w->parts[i]);
        add_rest(w, r->ignored, "SEEP_IGNORE");
        add_rest(w, r->lost, "lost: kept by nothing (see 'seep leaks')");
}

/* ---- for programs ---- */

static void owners_json_sum(const struct owners *w, const char *before, const char *name,
                            struct graph_sum sum)
{
        str_format(w->out, "%s\"%s\": ", before, name);
        json_field(w->out, "{\"", "blocks", sum.blocks);
        json_field(w->out, ", \"", "bytes", sum.bytes);
        str_char(w->out, '}');
}

static void owners_json_head(const struct owners *w)
{
        json_text_field(w->out, "{\"seep\": 1, \"", "program", w->p->meta.program);
        json_field(w->out, ", \"", "pid", w->p->meta.pid);
        str_format(w->out, ", \"recorded\": %s", profile_is_walked(w->p) ? "false" : "true");
        owners_json_sum(w, ",\n ", "total", w->all);
}

/* The largest parts of what is shared. */
static void json_parts(const struct owners *w)
{
        str_text(w->out, ",\n \"shared_parts\": [");
        for (uint32_t i = 0; i < w->part_count; i++) {
                const struct profile_block block = dense_block(graph_dense(w->graph),
                                                               w->parts[i].block);

                str_format(w->out, "%s\n  {\"address\": \"0x%" PRIx64 "\"", i ? "," : "",
                           block.address);
                json_field(w->out, ", \"", "site", block.site);
                json_field(w->out, ", \"", "heads", w->parts[i].heads);
                owners_json_sum(w, ", ", "retained", w->parts[i].kept);
                str_text(w->out, ", \"owners\": [");
                for (uint32_t k = 0; k < w->parts[i].count; k++) {
                        str_text(w->out, k ? ", {" : "{");
                        root_name_json(w->p, &w->list[w->parts[i].holders[k]].root_name, w->out);
                        str_char(w->out, '}');
                }
                str_text(w->out, "]}");
        }
        str_char(w->out, ']');
}

static void owners_json(struct owners *w)
{
        const struct graph_retained *r = &w->retained;
        uint32_t shown = owners_shown(w, w->keeping);

        owners_json_head(w);
        str_text(w->out, ",\n \"owners\": [");
        for (uint32_t i = 0; i < shown; i++) {
                str_text(w->out, i ? ",\n  {" : "\n  {");
                root_name_json(w->p, &w->list[i].root_name, w->out);
                json_field(w->out, ", \"", "pointers", w->list[i].pointers);
                owners_json_sum(w, ", ", "retained", w->list[i].kept);
                str_char(w->out, '}');
        }
        str_char(w->out, ']');
        owners_json_sum(w, ",\n ", "shared", r->shared);
        json_parts(w);
        owners_json_sum(w, ",\n ", "ignored", r->ignored);
        owners_json_sum(w, ",\n ", "lost", r->lost);
        str_text(w->out, "}\n");
}

/* ---- what would go away with the blocks of a call stack ---- */

enum { OWNERS_EXACT = 64 }; /* sites at least whose sums are found exactly */

struct owners_site {
        uint32_t site;
        struct graph_sum live, kept; /* without what is lost */
};

static int compare_sites(const void *a, const void *b)
{
        const struct owners_site *x = a, *y = b;
        int order = owners_compare(&x->kept, &y->kept);

        return order ? order : (x->site < y->site ? -1 : x->site > y->site);
}

/* Sums that leave out what several blocks of a site keep together: what they tell is
 * which sites are worth more. */
static uint32_t list_sites(struct owners *w, struct owners_site *list)
{
        const struct profile *p = w->p;
        uint32_t *of_hold = heap_zero(p->hold_count, sizeof *of_hold);
        struct graph_owners owners = { of_hold, GRAPH_LOST };
        struct dense *d = graph_dense(w->graph);
        struct graph_retained r;
        uint32_t count = 0;

        for (uint64_t i = 0; i < p->hold_count; i++)
                of_hold[i] = graph_rank(p->roots[p->holds[i].from].kind);
        for (uint32_t i = 0; i < p->block_count; i++) {
                uint32_t site = dense_site(d, i);

                if (site >= p->site_count || graph_rank_of(w->graph, i) == GRAPH_LOST)
                        continue;
                list[site].live.blocks++;
                list[site].live.bytes += dense_size(d, i);
        }
        graph_retain(w->graph, &owners, &(struct graph_wish){ .by_site = true }, &r);
        for (uint32_t i = 0; i < p->site_count; i++)
                if (r.by_site[i].blocks)
                        list[count++] = (struct owners_site){ i, list[i].live, r.by_site[i] };
        qsort(list, count, sizeof *list, compare_sites);
        graph_retained_free(&r);
        free(of_hold);
        return count;
}

static void make_exact(struct owners *w, struct owners_site *list, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++)
                list[i].kept = graph_retained_by(w->graph, list[i].site);
        qsort(list, count, sizeof *list, compare_sites);
}

static void sites_text(const struct owners *w, const struct owners_site *list, uint32_t shown)
{
        owners_title(w, "what is freed with the blocks of a call stack",
                     "site    own bytes  allocated by");
        for (uint32_t i = 0; i < shown; i++) {
                size_t start = w->out->length, used;

                owners_row(w, list[i].kept);
                str_format(w->out, "#%-5" PRIu32, list[i].site);
                text_cell(w->out, 11, list[i].live.bytes, text_size);
                str_text(w->out, "  ");
                used = text_columns(w->out, start);
                block_origin_calls(w->p, w->s, list[i].site,
                                   w->o->columns > used ? w->o->columns - used : w->o->columns,
                                   w->out);
                str_char(w->out, '\n');
        }
}

static void sites_json(const struct owners *w, const struct owners_site *list, uint32_t shown)
{
        owners_json_head(w);
        str_text(w->out, ",\n \"sites\": [");
        for (uint32_t i = 0; i < shown; i++) {
                struct block_origin block_origin = block_origin_of(w->p, w->s, list[i].site);

                json_field(w->out, i ? ",\n  {\"" : "\n  {\"", "id", list[i].site);
                json_text_field(w->out, ", \"", "function", symbol_name(block_origin.frame));
                json_place(w->out, block_origin.frame->file, block_origin.frame->line);
                owners_json_sum(w, ", ", "live", list[i].live);
                owners_json_sum(w, ", ", "retained", list[i].kept);
                str_char(w->out, '}');
        }
        str_text(w->out, "]}\n");
}

static void owners_sites(struct owners *w)
{
        struct owners_site *list = heap_zero(w->p->site_count, sizeof *list);
        uint32_t count = list_sites(w, list), shown = owners_shown(w, count);
        uint32_t exact = shown > OWNERS_EXACT ? shown : OWNERS_EXACT;

        make_exact(w, list, exact < count ? exact : count);
        if (w->o->json)
                sites_json(w, list, shown);
        else
                sites_text(w, list, shown);
        free(list);
}

/* ---- both ---- */

void owners_write(const struct profile *p, struct symbols *s, const struct owners_options *o,
                  struct str *out)
{
        struct owners w;

        if (o->sites)
                owners_start(&w, p, s);
        else
                owners_make(&w, p, s, &(struct graph_wish){ 0 });
        w.o = o;
        w.out = out;
        (o->sites ? owners_sites : o->json ? owners_json : owners_text)(&w);
        owners_free(&w);
}
