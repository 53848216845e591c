/* SPDX-License-Identifier: MIT */
/* leaks_json.c -- the leaks for programs: the shapes of report --json, and what only leaks have. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/heap.h"
#include "base/json.h"
#include "export/frames.h"
#include "export/report_json.h"
#include "query/leaks.h"

struct leaks_document {
        const struct leaks *l;
        const struct profile *p;
        struct symbols *symbols;
        const struct leaks_options *o;
        struct str *out;
        struct frames frames;
        struct leaks_sum *hanging; /* by block; NULL: blocks are not listed */
        uint32_t *blocks;          /* in order of their sites, then as listed ... */
        uint64_t *ends;            /* ... by site: where its blocks end */
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

static void document_block(struct leaks_document *d, uint32_t index)
{
        const struct profile_block *block = &d->p->blocks[index];
        const struct profile_thread *thread =
                &d->p->threads[block->thread < d->p->thread_count ? block->thread : 0];
        const struct profile_verdict *verdict = &d->p->verdicts[index];

        str_format(d->out, "{\"address\": \"0x%" PRIx64 "\"", block->address);
        json_field(d->out, ", \"", "size", block->size);
        str_format(d->out, ", \"leak\": \"%s\"", profile_leak_word(verdict->leak));
        document_age(d, ", \"birth_ms\": ", block->site, block->birth_ms);
        document_age(d, ", \"age_ms\": ", block->site, leaks_age(d->p, block->birth_ms));
        if (thread->tid)
                json_field(d->out, ", \"", "tid", thread->tid);
        else
                str_text(d->out, ", \"tid\": null");
        str_format(d->out, ", \"new\": %s",
                   verdict->flags & PROFILE_VERDICT_NEW ? "true" : "false");
        if (verdict->leak == PROFILE_LEAK_INDIRECT && verdict->head &&
            verdict->head <= d->p->block_count)
                str_format(d->out, ", \"head\": \"0x%" PRIx64 "\"",
                           d->p->blocks[verdict->head - 1].address);
        document_type(d, verdict->vtable);
        document_hanging(d, &d->hanging[index]);
        document_content(d, index);
        str_char(d->out, '}');
}

static uint32_t leader_of(const struct leaks_document *d, uint32_t block)
{
        return d->l->sel->leaders[d->p->blocks[block].site];
}

/* The blocks to be listed, those of one site together. */
static void document_order(struct leaks_document *d)
{
        uint64_t count, sum = 0;
        uint32_t *list;

        d->hanging = leaks_hanging(d->l);
        list = leaks_blocks(d->l, d->o, d->hanging, &count);
        d->blocks = heap_zero(count, sizeof *d->blocks);
        d->ends = heap_zero(d->p->site_count, sizeof *d->ends);
        for (uint64_t i = 0; i < count; i++)
                d->ends[leader_of(d, list[i])]++;
        for (uint32_t i = 0; i < d->p->site_count; i++) {
                /* Where they begin, until each is in its place. */
                sum += d->ends[i];
                d->ends[i] = sum - d->ends[i];
        }
        for (uint64_t i = 0; i < count; i++)
                d->blocks[d->ends[leader_of(d, list[i])]++] = list[i];
        free(list);
}

/* ROW is the worst of its stack. */
static void document_site(struct leaks_document *d, const struct leaks_row *row)
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
        if (d->hanging) {
                uint64_t first = stack->site ? d->ends[stack->site - 1] : 0;

                str_text(d->out, ",\n   \"blocks\": [");
                for (uint64_t i = first; i < d->ends[stack->site]; i++) {
                        str_text(d->out, i > first ? ",\n    " : "\n    ");
                        document_block(d, d->blocks[i]);
                }
                str_char(d->out, ']');
        }
        str_char(d->out, '}');
        str_drain(d->out);
}

static void document_sites(struct leaks_document *d)
{
        uint8_t *met = heap_zero(d->p->site_count, 1);
        uint32_t count = 0;

        str_text(d->out, " \"sites\": [");
        for (uint32_t i = 0; i < d->l->count && (!d->o->limit || count < d->o->limit); i++) {
                const struct leaks_row *row = &d->l->rows[i];

                if (!(d->o->show >> row->leak & 1) || met[row->stack->site])
                        continue;
                met[row->stack->site] = 1;
                str_text(d->out, count++ ? ",\n  " : "\n  ");
                document_site(d, row);
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
        free(d.hanging);
        free(d.blocks);
        free(d.ends);
}
