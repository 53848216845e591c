/* SPDX-License-Identifier: MIT */
/*
 * mappings.c -- where the memory of the process is: heap, what the allocator keeps beside it,
 * mappings, stacks, modules, files; and resources.
 *
 * Keeps:  the resident memory of all rows is that of the process at the last look.
 */
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "page/page_parts.h"
#include "profile/own.h"
#include "base/lookup.h"
#include "query/block_origin.h"
#include "query/residence.h"

enum { MAPPING_CLASS, MAPPING_NAME, MAPPING_ADDRESS, MAPPING_BYTES, MAPPING_RSS, MAPPING_BLOCKS };

/* Where the walk over the mappings is. */
struct mapping_walk {
        struct page *g;
        struct grid grid;
        struct lookup known; /* by class and name: 1 + the row */
        struct residence residence;
        const struct profile_mapping *before; /* the one that a module's zeroed data
                                               * (.bss) may follow; NULL none */
        struct str name;
};

/* What lies in one mapping. */
struct mapping_content {
        struct residence_part part;
        const struct profile_region *region;
};

/* Mappings of one class and name are one row, with the address of the first. */
static void add_row(struct mapping_walk *w, const char *class, const char *name,
                    const int64_t rest[4])
{
        struct lexicon *s = &w->g->lexicon;
        int64_t of_class = lexicon_of(s, class), of_name = lexicon_of(s, name);
        uint32_t *known = lookup_pair(&w->known, (uint64_t)of_class, (uint64_t)of_name);

        if (*known) {
                int64_t *cells = w->grid.cells + (size_t)(*known - 1) * w->grid.columns;

                grid_sum(&cells[MAPPING_BYTES], (uint64_t)rest[1]);
                grid_sum(&cells[MAPPING_RSS], rest[2] == GRID_NONE ? 0 : (uint64_t)rest[2]);
                grid_sum(&cells[MAPPING_BLOCKS], (uint64_t)rest[3]);
                return;
        }
        *known = (uint32_t)w->grid.count + 1;
        GRID_ROW(&w->grid, of_class, of_name,
                 rest[0] ? lexicon_address(s, (uint64_t)rest[0]) : GRID_NONE, rest[1], rest[2],
                 rest[3]);
}

#define ADD_ROW(w, class, name, address, bytes, rss, blocks)                              \
        add_row(w, class, name,                                                           \
                (const int64_t[4]){ (int64_t)(address), (int64_t)(bytes), (int64_t)(rss), \
                                   (int64_t)(blocks) })

/* The thread whose stack is in [START, END); NULL none. */
static const struct profile_root *stack_in(const struct profile *p, uint64_t start, uint64_t end)
{
        for (uint32_t i = 0; i < p->root_count; i++)
                if (p->roots[i].kind == PROFILE_ROOT_STACK && p->roots[i].start >= start &&
                    p->roots[i].start < end)
                        return &p->roots[i];
        return NULL;
}

static void name_stack(struct mapping_walk *w, uint32_t tid)
{
        const struct profile *p = w->g->p;
        const char *name = NULL;

        for (uint32_t i = 1; i < p->thread_count; i++)
                if (p->threads[i].tid == tid)
                        name = p->threads[i].name;
        str_clear(&w->name);
        str_format(&w->name, name ? "thread %" PRIu32 " (%s)" : "thread %" PRIu32, tid, name);
}

static bool is_module(const struct profile *p, const struct profile_mapping *m)
{
        for (uint32_t i = 0; i < p->module_count; i++)
                if (strcmp(p->modules[i].path, m->name) == 0)
                        return true;
        return false;
}

/* "free in malloc arenas of threads" */
static const char *kept_name(struct mapping_walk *w, const char *what, uint32_t keeper)
{
        str_clear(&w->name);
        str_format(&w->name, "%s %s", what, profile_keeper_word(keeper));
        return str_get(&w->name);
}

static void add_heap(struct mapping_walk *w, const struct profile_mapping *m,
                     const struct residence_part *k)
{
        uint64_t held = k->live_bytes < k->bytes ? k->live_bytes : k->bytes,
                 spare = k->bytes - held;
        uint64_t headers = k->headers_bytes < spare ? k->headers_bytes : spare;
        uint64_t others = k->rest_bytes + k->unrecorded_bytes;
        uint64_t free = spare - headers > others ? spare - headers - others : 0;

        if (k->blocks || k->live_bytes)
                ADD_ROW(w, "heap", kept_name(w, "blocks in", k->keeper), m->start, held,
                        k->used_bytes, k->blocks);
        if (headers)
                ADD_ROW(w, "allocator overhead", kept_name(w, "headers and rounding in", k->keeper),
                        0, headers, k->overhead_bytes, 0);
        if (k->unrecorded_bytes)
                ADD_ROW(w, "other", kept_name(w, "blocks that are not recorded, in", k->keeper),
                        m->start, k->unrecorded_bytes, k->unrecorded_bytes, 0);
        if (k->free_bytes || free)
                ADD_ROW(w, "allocator free", kept_name(w, "free in", k->keeper), m->start, free,
                        k->free_bytes, 0);
}

static const char *class_of(const struct profile_region *region)
{
        return region->stack ? "stack" : "mmap";
}

static void name_region(struct mapping_walk *w, const struct profile_region *region)
{
        str_clear(&w->name);
        if (region->stack)
                str_text(&w->name, "a thread created by ");
        block_origin_write(w->g->p, block_origin_of(w->g->p, w->g->s, region->site), 0, &w->name);
}

/* Memory from no file, with a name of the kernel's ("[heap]") or none. */
static void add_anonymous(struct mapping_walk *w, const struct profile_mapping *m,
                          const struct mapping_content *c)
{
        const struct profile_root *stack = stack_in(w->g->p, m->start, m->end);
        uint64_t bytes = m->end - m->start, rss = m->rss_bytes;

        if (stack || strcmp(m->name, "[stack]") == 0) {
                name_stack(w, stack ? stack->tid : w->g->p->meta.pid);
                ADD_ROW(w, "stack", str_get(&w->name), m->start, bytes, m->rss_bytes, 0);
                return;
        }
        if (c->part.keeper) {
                add_heap(w, m, &c->part);
                bytes = rss = c->part.rest_bytes;
        }
        if (!rss && c->part.keeper)
                return;
        if (c->region) {
                name_region(w, c->region);
                ADD_ROW(w, class_of(c->region), str_get(&w->name), m->start, bytes, rss,
                        c->part.keeper ? 0 : c->part.blocks);
        } else {
                ADD_ROW(w, "other", m->name[0] ? m->name : "anonymous memory", m->start, bytes, rss,
                        0);
        }
}

static void add_mapping(struct mapping_walk *w, const struct profile_mapping *m,
                        const struct mapping_content *c)
{
        const struct profile_mapping *file = m->name[0] == '/' ? m : NULL;
        bool module = file && is_module(w->g->p, file);

        if (!m->name[0] && w->before && w->before->end == m->start && !c->part.blocks &&
            !c->part.keeper && !c->region) {
                file = w->before; /* its zeroed data, behind the rest of it */
                module = true;
        }
        if (!file)
                add_anonymous(w, m, c);
        else if (own_mapping(w->g->p, file))
                ADD_ROW(w, "seep", "seep itself", m->start, m->end - m->start, m->rss_bytes, 0);
        else
                ADD_ROW(w, module ? "module" : "file", file->name, m->start, m->end - m->start,
                        m->rss_bytes, 0);
        w->before = module && file == m ? m : NULL;
}

/* The recording has no look at the mappings: what is known without one.  How much
 * of it is resident is not. */
static void add_known(struct mapping_walk *w)
{
        const struct profile *p = w->g->p;

        if (p->totals.live_blocks)
                ADD_ROW(w, "heap", "blocks that the program asked for", 0, p->totals.live_bytes,
                        GRID_NONE, p->totals.live_blocks);
        for (uint32_t i = 0; i < p->region_count; i++) {
                const struct profile_region *r = &p->regions[i];

                if (r->stack && stack_in(p, r->start, r->end))
                        continue; /* named by its thread, below */
                name_region(w, r);
                ADD_ROW(w, class_of(r), str_get(&w->name), r->start, r->end - r->start, GRID_NONE,
                        0);
        }
        for (uint32_t i = 0; i < p->root_count; i++)
                if (p->roots[i].kind == PROFILE_ROOT_STACK) {
                        name_stack(w, p->roots[i].tid);
                        ADD_ROW(w, "stack", str_get(&w->name), p->roots[i].start,
                                p->roots[i].end - p->roots[i].start, GRID_NONE, 0);
                }
        for (uint32_t i = 0; i < p->module_count; i++)
                if (!p->modules[i].gone_ms && p->modules[i].end > p->modules[i].start)
                        ADD_ROW(w, "module", p->modules[i].path, p->modules[i].start,
                                p->modules[i].end - p->modules[i].start, GRID_NONE, 0);
}

/* When most of what is resident is free memory. */
static void write_advice(struct page *g)
{
        const struct residence_part *wasted;
        struct residence_sums sums;
        struct str advice = { 0 };

        residence_sum(g->p, &sums);
        wasted = residence_wasted(&sums);
        if (wasted)
                residence_advice(wasted, &advice);
        str_text(g->out, ",\"advice\":");
        json_text(g->out, str_get(&advice));
        str_free(&advice);
}

void page_write_mappings(struct page *g)
{
        const struct profile *p = g->p;
        struct mapping_walk w = { .g = g };
        struct mapping_content c;

        grid_start(&w.grid, "class name address bytes rss_bytes blocks");
        residence_start(&w.residence, p);
        while (residence_next(&w.residence, &c.part, &c.region))
                add_mapping(&w, &p->mappings[w.residence.mapping - 1], &c);
        if (!p->mapping_count)
                add_known(&w);
        page_name(g, "mappings");
        str_format(g->out, "{\"at\":\"%s\",\"ms\":%" PRIu64,
                   p->meta.end == PROFILE_END_UNKNOWN ? "last look" : "end", p->totals.mappings_ms);
        write_advice(g);
        page_table(g, "rows", &w.grid);
        str_char(g->out, '}');
        lookup_free(&w.known);
        residence_end(&w.residence);
        str_free(&w.name);
}

void page_write_resources(struct page *g)
{
        const struct select_request request = { .cost = SELECT_LIVE, .resources = true,
                                                .each_site = true, .filter = g->r->filter };
        struct selection sel = { 0 };
        struct err unused;
        struct grid t;

        grid_start(&t, "type node acquired released held amount");
        if (g->p->type_count && select_make(&sel, g->p, g->s, &request, &unused))
                for (uint32_t i = 0; i < sel.heap.count; i++) {
                        const struct select_row *row = &sel.heap.rows[i];

                        GRID_ROW(&t, lexicon_of(&g->lexicon, profile_kind_name(g->p, row->kind)),
                                 calls_frame(&g->calls, row->node, 0), (int64_t)row->allocs,
                                 (int64_t)row->frees, (int64_t)row->live_blocks,
                                 (int64_t)row->live_bytes);
                }
        select_free(&sel);
        page_table(g, "resources", &t);
}
