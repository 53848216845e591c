/* SPDX-License-Identifier: MIT */
/*
 * owners_sites.c -- what would go away with the blocks of a call stack.
 *
 * Room:   outside.
 * Keeps:  these sums do not add up: one site may keep what another made.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/heap.h"
#include "base/json.h"
#include "query/maker.h"
#include "report/owners_form.h"
#include "words/text.h"

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
                if (graph_rank_of(w->graph, (uint32_t)i) == GRAPH_LOST)
                        continue;
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
        owners_title(w, "what goes away with the blocks of a call stack", "site    own bytes  allocated by");
        for (uint32_t i = 0; i < shown; i++) {
                size_t start = w->out->length, used;

                owners_row(w, list[i].kept);
                str_format(w->out, "#%-5" PRIu32, list[i].site);
                text_cell(w->out, 11, list[i].live.bytes, text_size);
                str_text(w->out, "  ");
                used = text_columns(w->out, start);
                maker_calls(w->p, w->s, list[i].site, w->o->columns > used ? w->o->columns - used : w->o->columns, w->out);
                str_char(w->out, '\n');
        }
}

static void sites_json(const struct owners *w, const struct owners_site *list, uint32_t shown)
{
        owners_json_head(w);
        str_text(w->out, ",\n \"sites\": [");
        for (uint32_t i = 0; i < shown; i++) {
                struct maker maker = maker_of(w->p, w->s, list[i].site);

                json_field(w->out, i ? ",\n  {\"" : "\n  {\"", "id", list[i].site);
                str_text(w->out, ", \"function\": ");
                json_text(w->out, maker.frame->function);
                json_place(w->out, maker.frame->file, maker.frame->line);
                owners_json_sum(w, ", ", "live", list[i].live);
                owners_json_sum(w, ", ", "retained", list[i].kept);
                str_char(w->out, '}');
        }
        str_text(w->out, "]}\n");
}

void owners_sites(struct owners *w)
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
