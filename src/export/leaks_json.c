/* SPDX-License-Identifier: MIT */
/*
 * leaks_json.c -- the leaks as JSON: the objects of report --json, and those that only leaks have.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/heap.h"
#include "base/json.h"
#include "export/frames.h"
#include "export/report_json.h"
#include "query/leaks_list.h"

struct leaks_document {
        const struct leaks *l;
        const struct profile *p;
        struct symbols *symbols;
        const struct leaks_options *o;
        struct str *out;
        struct frames frames;
        struct leaks_list list; /* in the order of their sites here, then as listed ... */
        uint64_t *ends; /* ... by site: where its blocks end; NULL: blocks are not listed */
        uint64_t next;  /* of the list */
};

static void document_type(struct leaks_document *d, uint64_t vtable)
{
        json_text_field(d->out, ", \"", "type", leaks_class(d->symbols, vtable));
}

/* Nobody knows when the blocks of a process came that was not recorded yet. */
static void document_age(struct leaks_document *d, const char *name, uint32_t site, uint64_t ms)
{
        str_text(d->out, name);
        if (!profile_is_seen(d->p, site))
                str_text(d->out, "null");
        else
                str_format(d->out, "%" PRIu64, ms);
}

static void document_hanging(struct leaks_document *d, const struct leaks_sum *sum)
{
        json_field(d->out, ", \"hanging\": {\"", "blocks", sum->blocks);
        json_field(d->out, ", \"", "bytes", sum->bytes);
        str_char(d->out, '}');
}

static void document_content(struct leaks_document *d, uint32_t block)
{
        const struct profile_content *content = leaks_content(d->p, block);

        if (!content) {
                str_text(d->out, ", \"content\": null");
                return;
        }
        str_text(d->out, ", \"content\": \"");
        for (uint32_t i = 0; i < content->bytes; i++)
                str_format(d->out, "%02x", content->data[i]);
        str_char(d->out, '"');
}

static void document_block(struct leaks_document *d, const struct leaks_listed *listed)
{
        const struct profile_block *block = &listed->block;
        const struct profile_thread *thread =
                &d->p->threads[block->thread < d->p->thread_count ? block->thread : 0];
        uint64_t head = leaks_list_head(&d->list, listed);

        str_format(d->out, "{\"address\": \"0x%" PRIx64 "\"", block->address);
        json_field(d->out, ", \"", "size", block->size);
        str_format(d->out, ", \"leak\": \"%s\"", profile_leak_word(listed->verdict.leak));
        document_age(d, ", \"birth_ms\": ", block->site, block->birth_ms);
        document_age(d, ", \"age_ms\": ", block->site, leaks_age(d->p, block->birth_ms));
        if (thread->tid)
                json_field(d->out, ", \"", "tid", thread->tid);
        else
                str_text(d->out, ", \"tid\": null");
        str_format(d->out, ", \"new\": %s",
                   listed->verdict.flags & PROFILE_VERDICT_NEW ? "true" : "false");
        if (head)
                str_format(d->out, ", \"head\": \"0x%" PRIx64 "\"", head);
        document_type(d, listed->verdict.vtable);
        document_hanging(d, &listed->hanging);
        document_content(d, listed->index);
        str_char(d->out, '}');
}

static bool is_shown(const struct leaks_document *d, const struct leaks_row *row,
                     const uint8_t *met, uint32_t count)
{
        return (!d->o->limit || count < d->o->limit) && d->o->show >> row->leak & 1 &&
               !met[row->stack->site];
}

/* By site: its place among those that are shown, from 1 on. */
static uint32_t *document_places(const struct leaks_document *d)
{
        uint32_t *places = heap_zero(d->p->site_count, sizeof *places), count = 0;
        uint8_t *met = heap_zero(d->p->site_count, 1);

        for (uint32_t i = 0; i < d->l->count; i++)
                if (is_shown(d, &d->l->rows[i], met, count)) {
                        met[d->l->rows[i].stack->site] = 1;
                        places[d->l->rows[i].stack->site] = ++count;
                }
        free(met);
        return places;
}

/* The blocks to be listed, those of one site together, as sites come one after another: so that
 * they are unpacked in passes over all.  Those of sites that are not shown come first. */
static void document_order(struct leaks_document *d)
{
        uint32_t *places = document_places(d), *ordered;
        struct leaks_list *g = &d->list;
        struct dense *sites = &g->dense;
        uint64_t sum = 0;

        leaks_list_make(g, d->l, d->o, 0);
        ordered = heap_grow(NULL, g->count, sizeof *ordered);
        d->ends = heap_zero((size_t)d->p->site_count + 1, sizeof *d->ends);
#define PLACE_OF(block) places[d->l->sel->leaders[dense_site(sites, block)]]
        for (uint64_t i = 0; i < g->count; i++)
                d->ends[PLACE_OF(g->blocks[i])]++;
        d->next = d->ends[0];
        for (uint32_t i = 0; i <= d->p->site_count; i++) {
                /* Where they begin, until each is in its place. */
                sum += d->ends[i];
                d->ends[i] = sum - d->ends[i];
        }
        for (uint64_t i = 0; i < g->count; i++)
                ordered[d->ends[PLACE_OF(g->blocks[i])]++] = g->blocks[i];
#undef PLACE_OF
        dense_rest(sites);
        free(g->blocks);
        g->blocks = ordered;
        free(places);
}

static void document_blocks(struct leaks_document *d, uint32_t number)
{
        const char *before = "\n    ";

        str_text(d->out, ",\n   \"blocks\": [");
        for (; d->next < d->ends[number]; d->next++) {
                struct leaks_listed block = leaks_list_at(&d->list, d->next);

                str_text(d->out, before);
                document_block(d, &block);
                str_drain(d->out);
                before = ",\n    ";
        }
        str_char(d->out, ']');
}

/* ROW is the worst of its stack, which is the NUMBERth that is shown. */
static void document_site(struct leaks_document *d, const struct leaks_row *row, uint32_t number)
{
        const struct select_row *stack = row->stack;
        const struct select_known known = select_known(d->l->sel);
        struct leaks_sum sums[PROFILE_LEAK_COUNT];

        leaks_of_site(d->l, stack->site, sums);
        json_field(d->out, "{\"", "id", stack->site);
        str_format(d->out, ", \"class\": \"%s\"", profile_leak_word(row->leak));
        report_json_site_numbers(stack, sums, &known, d->out);
        document_hanging(d, &row->hanging);
        document_age(d, ", \"age_ms\": ", stack->site, leaks_age(d->p, row->birth_ms));
        str_text(d->out, ", \"growth\": ");
        json_text(d->out,
                  row->growth.class == GROWTH_UNKNOWN ? NULL : growth_word(row->growth.class));
        str_format(d->out, ", \"growth_bytes_per_s\": %.3f", row->growth.bytes_per_s);
        document_type(d, row->vtable);
        json_text_field(d->out, ", \"", "kind", profile_kind_name(d->p, stack->kind));
        str_text(d->out, ", \"stack\": ");
        frames_stack(&d->frames, d->l->sel, stack->node, d->out);
        if (frames_cut_off(d->l->sel, stack->node))
                str_text(d->out, ", \"truncated\": true");
        if (d->ends)
                document_blocks(d, number);
        str_char(d->out, '}');
        str_drain(d->out);
}

static void document_sites(struct leaks_document *d)
{
        uint8_t *met = heap_zero(d->p->site_count, 1);
        uint32_t count = 0;

        str_text(d->out, " \"sites\": [");
        for (uint32_t i = 0; i < d->l->count; i++) {
                const struct leaks_row *row = &d->l->rows[i];

                if (!is_shown(d, row, met, count))
                        continue;
                met[row->stack->site] = 1;
                str_text(d->out, count++ ? ",\n  " : "\n  ");
                document_site(d, row, count);
        }
        str_text(d->out, "],\n");
        free(met);
}

static void document_rules(struct leaks_document *d)
{
        const struct suppressions *s = d->o->suppressions;
        bool first = true;

        str_text(d->out, " \"suppressions\": [");
        for (uint32_t i = 0; s && i < s->count; i++) {
                const struct suppress_rule *rule = &s->rules[i];

                if (rule->source == SUPPRESS_BUILT_IN && !rule->times)
                        continue;
                str_text(d->out, first ? "\n  {\"name\": " : ",\n  {\"name\": ");
                first = false;
                json_text(d->out, rule->name);
                json_text_field(d->out, ", \"", "file", rule->file);
                json_field(d->out, ", \"", "line", rule->at);
                json_field(d->out, ", \"", "times", rule->times);
                json_field(d->out, ", \"", "blocks", rule->blocks);
                json_field(d->out, ", \"", "bytes", rule->bytes);
                str_char(d->out, '}');
        }
        str_text(d->out, "],\n");
}

void leaks_json(const struct leaks *l, struct symbols *s, const struct leaks_options *o,
                struct str *out)
{
        struct leaks_document d = { .l = l, .p = l->sel->profile, .symbols = s, .o = o,
                                    .out = out };

        frames_start(&d.frames, l->sel, s);
        if (o->blocks && l->scan)
                document_order(&d);
        report_json_recording(d.p, out);
        str_text(out, " \"moment\": ");
        report_json_moment(l->sel, out);
        str_text(out, ",\n");
        str_text(out, " \"leaks\": ");
        report_json_leaks(l, out);
        str_text(out, ",\n");
        document_sites(&d);
        str_text(out, " \"errors\": [");
        report_json_errors(d.p, l->forgiven, &d.frames, out);
        str_text(out, "],\n");
        document_rules(&d);
        str_text(out, " \"frames\": [");
        frames_list(&d.frames, true, out);
        str_text(out, "]}\n");
        frames_free(&d.frames);
        if (d.ends)
                leaks_list_free(&d.list);
        free(d.ends);
}
