/* SPDX-License-Identifier: MIT */
/*
 * sample.c -- made-up recordings for tests.
 */
#include "sample.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/str.h"
#include "ledger/ledger.h"

uint64_t sample_random(uint64_t *state)
{
        *state ^= *state >> 12;
        *state ^= *state << 25;
        *state ^= *state >> 27;
        return *state * 2685821657736338717ull;
}

static uint64_t below(uint64_t *r, uint64_t limit)
{
        return limit ? sample_random(r) % limit : 0;
}

/* Mostly small, sometimes anything. */
static uint64_t number(uint64_t *r)
{
        switch (below(r, 8)) {
        case 0:
                return sample_random(r);
        case 1:
                return below(r, 2) ? UINT64_MAX : 0;
        default:
                return sample_random(r) >> (24 + below(r, 40));
        }
}

static uint32_t half(uint64_t *r)
{
        return (uint32_t)number(r);
}

static char *text(uint64_t *r)
{
        struct str s = { 0 };
        uint64_t length = below(r, 20);

        str_text(&s, "");
        for (uint64_t i = 0; i < length; i++)
                str_char(&s, (char)(1 + below(r, 255)));
        return s.data;
}

static char **texts(uint64_t *r, uint32_t count)
{
        char **list = heap_zero(count, sizeof *list);

        for (uint32_t i = 0; i < count; i++)
                list[i] = text(r);
        return list;
}

static void fill_meta(struct profile_meta *m, uint64_t *r)
{
        m->program = text(r);
        m->exe = text(r);
        m->cwd = text(r);
        m->host = text(r);
        m->engine = text(r);
        m->version = text(r);
        m->arg_count = (uint32_t)below(r, 5);
        m->args = texts(r, m->arg_count);
        m->warning_count = (uint32_t)below(r, 3);
        m->warnings = texts(r, m->warning_count);
        m->pid = half(r);
        m->ppid = half(r);
        m->start_realtime_ns = number(r);
        m->duration_ms = number(r);
        m->end = (uint32_t)below(r, PROFILE_END_GONE + 1);
        m->exit_code = half(r);
        m->exit_signal = half(r);
        m->flags = half(r);
        m->complete = (uint32_t)below(r, 2);
        m->stop_reason = half(r);
        m->depth = half(r);
        m->word_bytes = half(r);
        m->machine = 1 + m->word_bytes % 300;
        m->byte_order = 1 + m->depth % 2;
        m->page_bytes = 4096u << m->flags % 5;
}

/* From numbers of their own, so that one more total does not change the rest of every sample. */
static void fill_totals(struct profile_totals *t, uint64_t r)
{
        uint64_t *words = (uint64_t *)t;

        for (size_t i = 0; i < sizeof *t / sizeof *words; i++)
                words[i] = number(&r);
}

static void fill_tree(struct profile *p, uint64_t *r, uint32_t size)
{
        p->module_count = (uint32_t)below(r, size < 60 ? size : 60);
        p->modules = heap_zero(p->module_count, sizeof *p->modules);
        for (uint32_t i = 0; i < p->module_count; i++) {
                struct profile_module *m = &p->modules[i];

                *m = (struct profile_module){ .start = number(r) >> 1,
                                              .bias = number(r),
                                              .path = text(r),
                                              .load_ms = number(r),
                                              .gone_ms = number(r),
                                              .flags = half(r),
                                              .build_id_bytes = (uint32_t)below(r, 21) };
                m->end = m->start + (number(r) >> 1);
                m->code_start = m->start / 2;
                m->code_end = m->code_start + m->bias / 2;
                m->code_offset = ~m->bias;
                m->device = m->load_ms * 3;
                m->inode = ~m->gone_ms;
                for (uint32_t k = 0; k < sizeof m->build_id; k++)
                        m->build_id[k] = (uint8_t)sample_random(r);
        }
        p->node_count = 2 + (uint32_t)below(r, size);
        p->nodes = heap_zero(p->node_count, sizeof *p->nodes);
        for (uint32_t i = 0; i < p->node_count; i++) {
                struct profile_node *n = &p->nodes[i];

                n->pc = below(r, 2) ? 0x400000 + below(r, 50) : number(r);
                n->parent = i ? (uint32_t)below(r, i) : 0;
                n->module = p->module_count && below(r, 4) ? (uint16_t)below(r, p->module_count)
                                                           : PROFILE_NO_MODULE;
                n->exact = !below(r, 10);
        }
}

static uint32_t kind(const struct profile *p, uint64_t *r)
{
        return p->type_count && !below(r, 4)
                       ? LEDGER_KIND_TYPE_FIRST + (uint32_t)below(r, p->type_count)
                       : (uint32_t)below(r, LEDGER_KIND_COUNT);
}

static void fill_sites(struct profile *p, uint64_t *r, uint32_t size)
{
        p->type_count = (uint32_t)below(r, size < LEDGER_TYPES_MAX ? size : LEDGER_TYPES_MAX);
        p->types = texts(r, p->type_count);
        p->site_count = 1 + (uint32_t)below(r, size);
        p->sites = heap_zero(p->site_count, sizeof *p->sites);
        for (uint32_t i = 1; i < p->site_count; i++)
                p->sites[i] = (struct profile_site){ (uint32_t)below(r, p->node_count),
                                                     kind(p, r),
                                                     number(r),
                                                     number(r),
                                                     number(r),
                                                     number(r),
                                                     number(r),
                                                     number(r),
                                                     number(r),
                                                     number(r),
                                                     number(r) };
        p->thread_count = 1 + (uint32_t)below(r, size);
        p->threads = heap_zero(p->thread_count, sizeof *p->threads);
        for (uint32_t i = 0; i < p->thread_count; i++)
                p->threads[i] = (struct profile_thread){
                        half(r),   text(r),   number(r), number(r),
                        number(r), number(r), number(r), number(r)
                };
        p->share_count = (uint32_t)below(r, size);
        p->shares = heap_zero(p->share_count, sizeof *p->shares);
        for (uint32_t i = 0; i < p->share_count; i++)
                p->shares[i] = (struct profile_share){ (uint32_t)below(r, p->site_count),
                                                       (uint32_t)below(r, p->thread_count),
                                                       number(r),
                                                       number(r),
                                                       number(r),
                                                       number(r),
                                                       number(r) };
}

static void fill_slices(struct profile *p, uint64_t *r, uint32_t size)
{
        uint64_t ms = 0;
        uint32_t end = 0;

        p->change_count = (uint32_t)below(r, size);
        p->changes = heap_zero(p->change_count, sizeof *p->changes);
        for (uint32_t i = 0; i < p->change_count; i++)
                p->changes[i] = (struct profile_change){ (uint32_t)below(r, p->site_count),
                                                         0,
                                                         number(r),
                                                         number(r),
                                                         number(r),
                                                         number(r) };
        p->slice_count = (uint32_t)below(r, size);
        p->slices = heap_zero(p->slice_count, sizeof *p->slices);
        for (uint32_t i = 0; i < p->slice_count; i++) {
                uint32_t first = end +
                                 (uint32_t)below(r, below(r, p->change_count - end + 1ull) + 1),
                         count = (uint32_t)below(r, below(r, p->change_count - first + 1ull) + 1);

                end = first + count;
                ms += below(r, 1000000);
                p->slices[i] = (struct profile_slice){
                        ms,        number(r), number(r), number(r), number(r),
                        number(r), number(r), first,     count,     (uint32_t)below(r, 2),
                        0
                };
        }
}

static void fill_blocks(struct profile *p, uint64_t *r, uint32_t size)
{
        uint64_t address = below(r, 1ull << 47);

        p->block_count = below(r, size);
        p->blocks = heap_zero(p->block_count, sizeof *p->blocks);
        for (uint64_t i = 0; i < p->block_count; i++)
                p->blocks[i] = (struct profile_block){ address += below(r, 1ull << 30), number(r),
                                                       (uint32_t)below(r, p->site_count),
                                                       (uint32_t)below(r, p->thread_count),
                                                       number(r) };
        p->region_count = (uint32_t)below(r, size);
        p->regions = heap_zero(p->region_count, sizeof *p->regions);
        for (uint32_t i = 0; i < p->region_count; i++) {
                uint64_t start = number(r) >> 1;

                p->regions[i] = (struct profile_region){ start,
                                                         start + (number(r) >> 1),
                                                         (uint32_t)below(r, p->site_count),
                                                         (uint32_t)below(r, p->thread_count),
                                                         number(r),
                                                         below(r, 2) };
        }
        p->error_count = (uint32_t)below(r, size);
        p->errors = heap_zero(p->error_count, sizeof *p->errors);
        for (uint32_t i = 0; i < p->error_count; i++)
                p->errors[i] = (struct profile_error){ (uint32_t)below(r, 4),
                                                       (uint32_t)below(r, p->node_count),
                                                       (uint32_t)below(r, p->site_count),
                                                       (uint32_t)below(r, 5),
                                                       (uint32_t)below(r, p->thread_count),
                                                       number(r),
                                                       number(r),
                                                       number(r),
                                                       number(r),
                                                       (uint32_t)below(r, p->node_count),
                                                       (uint32_t)below(r, LEDGER_WRONG_COUNT),
                                                       number(r),
                                                       number(r) };
}

static void fill_marks(struct profile *p, uint64_t *r, uint32_t size)
{
        uint32_t slice = 0, site = 0;

        p->mark_count = p->slice_count ? (uint32_t)below(r, size) : 0;
        p->marks = heap_zero(p->mark_count, sizeof *p->marks);
        for (uint32_t i = 0; i < p->mark_count; i++) {
                slice += (uint32_t)below(r, below(r, p->slice_count - slice) + 1);
                p->marks[i] = (struct profile_mark){ (uint32_t)below(r, LEDGER_MARK_OUTSIDE + 1),
                                                     half(r),
                                                     slice,
                                                     (uint32_t)below(r, p->thread_count),
                                                     half(r),
                                                     half(r),
                                                     number(r),
                                                     text(r) };
        }
        p->death_count = (uint32_t)below(r, size);
        p->deaths = heap_zero(p->death_count, sizeof *p->deaths);
        for (uint32_t i = 0; i < p->death_count; i++) {
                site += (uint32_t)below(r, below(r, p->site_count - site) + 1);
                p->deaths[i] = (struct profile_death){ site, i, half(r), 0, number(r), number(r) };
        }
}

static void fill_handles(struct profile *p, uint64_t *r, uint32_t size)
{
        uint64_t start = 0;

        p->handle_count = (uint32_t)below(r, size);
        p->handles = heap_zero(p->handle_count, sizeof *p->handles);
        for (uint32_t i = 0; i < p->handle_count; i++)
                p->handles[i] = (struct profile_handle){ number(r), number(r),
                                                         (uint32_t)below(r, p->site_count),
                                                         (uint32_t)below(r, p->thread_count),
                                                         number(r) };
        p->jit_count = (uint32_t)below(r, size);
        p->jit = heap_zero(p->jit_count, sizeof *p->jit);
        for (uint32_t i = 0; i < p->jit_count; i++)
                p->jit[i] = (struct profile_jit){ start += below(r, 1ull << 40), number(r) >> 1,
                                                  text(r) };
        p->mapping_count = (uint32_t)below(r, size);
        p->mappings = heap_zero(p->mapping_count, sizeof *p->mappings);
        for (uint32_t i = 0; i < p->mapping_count; i++) {
                start += below(r, 1ull << 40);
                p->mappings[i] = (struct profile_mapping){ start,     start + below(r, 1ull << 40),
                                                           number(r), number(r),
                                                           half(r),   0,
                                                           text(r),   ~start,
                                                           start * 3, start * 5,
                                                           start * 7, start * 9 };
        }
}

static void fill_symbols(struct profile *p, uint64_t *r, uint32_t size)
{
        uint64_t address = 0;

        p->symbol_count = p->module_count ? (uint32_t)below(r, size) : 0;
        p->symbols = heap_zero(p->symbol_count, sizeof *p->symbols);
        for (uint32_t i = 0; i < p->symbol_count; i++)
                p->symbols[i] = (struct profile_symbol){ p->module_count - 1,
                                                         half(r),
                                                         address += 1 + below(r, 999),
                                                         below(r, 5) ? text(r) : NULL,
                                                         below(r, 5) ? text(r) : NULL,
                                                         half(r),
                                                         0 };
}

void sample_profile(struct profile *p, uint64_t seed, uint32_t size)
{
        uint64_t r = seed * 0x9e3779b97f4a7c15ull | 1;

        memset(p, 0, sizeof *p);
        fill_meta(&p->meta, &r);
        fill_totals(&p->totals, r);
        fill_tree(p, &r, size);
        fill_sites(p, &r, size);
        fill_slices(p, &r, size);
        fill_blocks(p, &r, size);
        fill_symbols(p, &r, size);
        fill_marks(p, &r, size);
        fill_handles(p, &r, size);
        sample_fill_leaks(p, &r, size);
}

static bool same_text(const char *a, const char *b)
{
        return a && b ? !strcmp(a, b) : a == b;
}

static bool same_texts(char **a, uint32_t a_count, char **b, uint32_t b_count)
{
        for (uint32_t i = 0; i < a_count && a_count == b_count; i++)
                if (!same_text(a[i], b[i]))
                        return false;
        return a_count == b_count;
}

static const char *meta_difference(const struct profile_meta *a, const struct profile_meta *b)
{
        if (!same_text(a->program, b->program) || !same_text(a->exe, b->exe) ||
            !same_text(a->cwd, b->cwd) || !same_text(a->host, b->host) ||
            !same_text(a->engine, b->engine) || !same_text(a->version, b->version))
                return "meta text";
        if (!same_texts(a->args, a->arg_count, b->args, b->arg_count))
                return "meta args";
        if (!same_texts(a->warnings, a->warning_count, b->warnings, b->warning_count))
                return "meta warnings";
        if (a->pid != b->pid || a->ppid != b->ppid ||
            a->start_realtime_ns != b->start_realtime_ns || a->duration_ms != b->duration_ms ||
            a->end != b->end || a->exit_code != b->exit_code || a->exit_signal != b->exit_signal ||
            a->flags != b->flags || a->complete != b->complete ||
            a->stop_reason != b->stop_reason || a->depth != b->depth ||
            a->word_bytes != b->word_bytes || a->machine != b->machine ||
            a->byte_order != b->byte_order || a->page_bytes != b->page_bytes)
                return "meta number";
        return NULL;
}

static const char *module_difference(const struct profile *a, const struct profile *b)
{
        for (uint32_t i = 0; i < a->module_count; i++) {
                const struct profile_module *x = &a->modules[i], *y = &b->modules[i];

                if (x->start != y->start || x->end != y->end || x->bias != y->bias ||
                    !same_text(x->path, y->path) || x->load_ms != y->load_ms ||
                    x->gone_ms != y->gone_ms || x->flags != y->flags ||
                    x->build_id_bytes != y->build_id_bytes ||
                    memcmp(x->build_id, y->build_id, sizeof x->build_id) ||
                    x->code_start != y->code_start || x->code_end != y->code_end ||
                    x->code_offset != y->code_offset || x->device != y->device ||
                    x->inode != y->inode)
                        return "a module";
        }
        for (uint32_t i = 0; i < a->thread_count; i++) {
                const struct profile_thread *x = &a->threads[i], *y = &b->threads[i];

                if (x->tid != y->tid || !same_text(x->name, y->name) ||
                    x->start_ms != y->start_ms || x->end_ms != y->end_ms ||
                    x->allocations != y->allocations || x->bytes_allocated != y->bytes_allocated ||
                    x->live_blocks != y->live_blocks || x->live_bytes != y->live_bytes)
                        return "a thread";
        }
        for (uint32_t i = 0; i < a->symbol_count; i++) {
                const struct profile_symbol *x = &a->symbols[i], *y = &b->symbols[i];

                if (x->module != y->module || x->inline_depth != y->inline_depth ||
                    x->address != y->address || !same_text(x->function, y->function) ||
                    !same_text(x->file, y->file) || x->line != y->line)
                        return "a symbol";
        }
        return NULL;
}

static const char *error_difference(const struct profile *a, const struct profile *b)
{
        for (uint32_t i = 0; i < a->error_count; i++) {
                const struct profile_error *x = &a->errors[i], *y = &b->errors[i];

                if (x->type != y->type || x->node != y->node || x->alloc_site != y->alloc_site ||
                    x->release != y->release || x->thread != y->thread ||
                    x->address != y->address || x->size != y->size || x->count != y->count ||
                    x->first_ms != y->first_ms)
                        return "an error";
        }
        return NULL;
}

static const char *mark_difference(const struct profile *a, const struct profile *b)
{
        for (uint32_t i = 0; i < a->mark_count; i++) {
                const struct profile_mark *x = &a->marks[i], *y = &b->marks[i];

                if (x->type != y->type || x->seq != y->seq || x->slice != y->slice ||
                    x->thread != y->thread || x->flags != y->flags || x->era != y->era ||
                    x->ms != y->ms || !same_text(x->label, y->label))
                        return "a mark";
        }
        for (uint32_t i = 0; i < a->jit_count; i++) {
                const struct profile_jit *x = &a->jit[i], *y = &b->jit[i];

                if (x->start != y->start || x->bytes != y->bytes || !same_text(x->name, y->name))
                        return "a piece of jit code";
        }
        for (uint32_t i = 0; i < a->mapping_count; i++) {
                const struct profile_mapping *x = &a->mappings[i], *y = &b->mappings[i];

                if (x->start != y->start || x->end != y->end || x->rss_bytes != y->rss_bytes ||
                    x->anonymous_bytes != y->anonymous_bytes || x->flags != y->flags ||
                    !same_text(x->name, y->name) || x->offset != y->offset ||
                    x->device != y->device || x->inode != y->inode)
                        return "a mapping";
        }
        return same_texts(a->types, a->type_count, b->types, b->type_count) ? NULL : "a type";
}

const char *sample_difference(const struct profile *a, const struct profile *b)
{
        const char *text_difference = meta_difference(&a->meta, &b->meta);

        if (text_difference)
                return text_difference;
        if (memcmp(&a->totals, &b->totals, sizeof a->totals))
                return "totals";
        if (a->module_count != b->module_count || a->thread_count != b->thread_count ||
            a->symbol_count != b->symbol_count || a->error_count != b->error_count ||
            a->mark_count != b->mark_count || a->jit_count != b->jit_count ||
            a->mapping_count != b->mapping_count)
                return "a count";
        text_difference = module_difference(a, b);
        if (!text_difference)
                text_difference = mark_difference(a, b);
        if (!text_difference)
                text_difference = sample_leaks_difference(a, b);
        if (text_difference)
                return text_difference;
        if (SAMPLE_DIFFERS(nodes, node_count))
                return "a node";
        if (SAMPLE_DIFFERS(sites, site_count))
                return "a site";
        if (SAMPLE_DIFFERS(shares, share_count))
                return "a share";
        if (SAMPLE_DIFFERS(slices, slice_count))
                return "a slice";
        if (SAMPLE_DIFFERS(changes, change_count))
                return "a change";
        if (SAMPLE_DIFFERS(blocks, block_count))
                return "a block";
        if (SAMPLE_DIFFERS(deaths, death_count))
                return "a death";
        if (SAMPLE_DIFFERS(handles, handle_count))
                return "a handle";
        if (SAMPLE_DIFFERS(regions, region_count))
                return "a region";
        return error_difference(a, b);
}

static uint64_t touch_node(const struct profile *p, uint32_t node)
{
        uint64_t sum = 0;

        for (; node; node = p->nodes[node].parent)
                if (p->nodes[node].module != PROFILE_NO_MODULE)
                        sum += (uint8_t)p->modules[p->nodes[node].module].path[0];
        return sum + p->nodes[0].pc;
}

static uint64_t touch_site(const struct profile *p, uint32_t site, uint32_t thread)
{
        return touch_node(p, p->sites[site].node) +
               strlen(profile_kind_name(p, p->sites[site].kind)) + strlen(p->threads[thread].name);
}

static uint64_t touch_meta(const struct profile_meta *m)
{
        uint64_t sum = strlen(m->program) + strlen(m->exe) + strlen(m->cwd) + strlen(m->host) +
                       strlen(m->engine) + strlen(m->version);

        for (uint32_t i = 0; i < m->arg_count; i++)
                sum += strlen(m->args[i]);
        for (uint32_t i = 0; i < m->warning_count; i++)
                sum += strlen(m->warnings[i]);
        return sum;
}

static uint64_t touch_slices(const struct profile *p)
{
        struct profile_change *at = heap_zero(p->site_count, sizeof *at);
        uint64_t sum = profile_at(p, UINT64_MAX, at);

        for (uint32_t i = 0; i < p->change_count; i++)
                sum += touch_node(p, p->sites[p->changes[i].site].node);
        for (uint32_t i = 0; i < p->site_count; i++)
                sum += at[i].live_bytes;
        free(at);
        return sum;
}

static uint64_t touch_marks(const struct profile *p)
{
        uint64_t sum = 0;

        for (uint32_t i = 0; i < p->mark_count; i++)
                sum += strlen(p->marks[i].label) + p->slices[p->marks[i].slice].ms +
                       strlen(p->threads[p->marks[i].thread].name);
        for (uint32_t i = 0; i < p->death_count; i++)
                sum += touch_node(p, p->sites[p->deaths[i].site].node);
        for (uint32_t i = 0; i < p->handle_count; i++)
                sum += touch_site(p, p->handles[i].site, p->handles[i].thread);
        for (uint32_t i = 0; i < p->jit_count; i++)
                sum += strlen(p->jit[i].name) + p->jit[i].start + p->jit[i].bytes;
        for (uint32_t i = 0; i < p->mapping_count; i++)
                sum += strlen(p->mappings[i].name) + (p->mappings[i].end - p->mappings[i].start);
        for (uint32_t i = 0; i < p->type_count; i++)
                sum += strlen(p->types[i]);
        return sum;
}

uint64_t sample_touch(const struct profile *p)
{
        uint64_t sum = touch_meta(&p->meta) + touch_slices(p) + touch_marks(p) +
                       sample_leaks_touch(p);

        for (uint32_t i = 1; i < p->node_count; i++)
                sum += p->nodes[i].parent < i ? touch_node(p, i) : (abort(), 0);
        for (uint32_t i = 0; i < p->site_count; i++)
                sum += touch_node(p, p->sites[i].node);
        for (uint32_t i = 0; i < p->share_count; i++)
                sum += touch_site(p, p->shares[i].site, p->shares[i].thread);
        for (uint64_t i = 0; i < p->block_count; i++)
                sum += touch_site(p, p->blocks[i].site, p->blocks[i].thread);
        for (uint32_t i = 0; i < p->region_count; i++)
                sum += touch_site(p, p->regions[i].site, p->regions[i].thread);
        for (uint32_t i = 0; i < p->error_count; i++)
                sum += touch_site(p, p->errors[i].alloc_site, p->errors[i].thread) +
                       touch_node(p, p->errors[i].node);
        for (uint32_t i = 0; i < p->symbol_count; i++)
                sum += (uint8_t)p->modules[p->symbols[i].module].path[0];
        return sum;
}
