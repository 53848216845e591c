/* SPDX-License-Identifier: MIT */
/*
 * mappings.c -- where the memory of the process is: heap, what the allocator has beyond it, mappings, stacks, modules, files; and resources.
 *
 * Room:   outside.
 * Keeps:  the resident memory of all rows is that of the process at the last look.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "page/page_form.h"
#include "report/label.h"
#include "report/maker.h"

enum { MAPPING_CLASS, MAPPING_NAME, MAPPING_ADDRESS, MAPPING_BYTES, MAPPING_RSS, MAPPING_BLOCKS };

/* Where the walk over the mappings is; blocks and regions come in the order of addresses, too. */
struct mapping_walk {
        struct page *g;
        struct grid grid;
        struct pairs known; /* by class and name: 1 + the row */
        struct profile_region *regions; /* sorted */
        const struct profile_mapping *before; /* the one that a module's zeroed data (.bss) may follow; NULL none */
        uint32_t region;
        uint64_t block;
        uint64_t spare_bytes, spare_rss; /* of the allocator */
        struct str name;
};

/* What lies in one mapping. */
struct mapping_content {
        uint64_t blocks, bytes;
        const struct profile_region *region;
};

/* Mappings of one class and name are one row, with the address of the first. */
static void add_row(struct mapping_walk *w, const char *class, const char *name, const int64_t rest[4])
{
        struct lexicon *s = &w->g->lexicon;
        int64_t of_class = lexicon_of(s, class), of_name = lexicon_of(s, name);
        uint32_t *known = pairs_of(&w->known, (uint64_t)of_class, (uint64_t)of_name);

        if (*known) {
                int64_t *cells = w->grid.cells + (size_t)(*known - 1) * w->grid.columns;

                grid_sum(&cells[MAPPING_BYTES], (uint64_t)rest[1]);
                grid_sum(&cells[MAPPING_RSS], rest[2] == GRID_NONE ? 0 : (uint64_t)rest[2]);
                grid_sum(&cells[MAPPING_BLOCKS], (uint64_t)rest[3]);
                return;
        }
        *known = (uint32_t)w->grid.count + 1;
        GRID_ROW(&w->grid, of_class, of_name, rest[0] ? lexicon_address(s, (uint64_t)rest[0]) : GRID_NONE, rest[1], rest[2], rest[3]);
}

#define ADD_ROW(w, class, name, address, bytes, rss, blocks) \
        add_row(w, class, name, (const int64_t[4]){ (int64_t)(address), (int64_t)(bytes), (int64_t)(rss), (int64_t)(blocks) })

static int compare_regions(const void *a, const void *b)
{
        const struct profile_region *x = a, *y = b;

        return x->start < y->start ? -1 : x->start > y->start;
}

static struct mapping_content look_into(struct mapping_walk *w, const struct profile_mapping *m)
{
        const struct profile *p = w->g->p;
        struct mapping_content c = { 0 };

        while (w->block < p->block_count && p->blocks[w->block].address < m->start)
                w->block++;
        for (; w->block < p->block_count && p->blocks[w->block].address < m->end; w->block++) {
                uint64_t times = profile_block_times(p, &p->blocks[w->block]);

                c.blocks += times;
                c.bytes += times * p->blocks[w->block].size;
        }
        while (w->region < p->region_count && w->regions[w->region].end <= m->start)
                w->region++;
        if (w->region < p->region_count && w->regions[w->region].start < m->end)
                c.region = &w->regions[w->region];
        return c;
}

/* The thread whose stack is in M; NULL none. */
static const struct profile_root *stack_in(const struct profile *p, const struct profile_mapping *m)
{
        for (uint32_t i = 0; i < p->root_count; i++)
                if (p->roots[i].kind == PROFILE_ROOT_STACK && p->roots[i].start >= m->start && p->roots[i].start < m->end)
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

/* A look at a running process has no blocks: all of the heap is then taken to be where the kernel says that it is. */
static void add_heap(struct mapping_walk *w, const struct profile_mapping *m, const struct mapping_content *c)
{
        const struct profile_totals *t = &w->g->p->totals;
        bool unknown = !w->g->p->block_count;
        uint64_t bytes = m->end - m->start, live = unknown ? t->live_bytes : c->bytes;
        uint64_t held = live < bytes ? live : bytes, used = held < m->rss_bytes ? held : m->rss_bytes;

        ADD_ROW(w, "heap", "blocks that the program asked for", m->start, held, used, unknown ? t->live_blocks : c->blocks);
        w->spare_bytes += bytes - held;
        w->spare_rss += m->rss_bytes - used;
}

/* Memory from no file, with a name of the kernel's ("[heap]") or none. */
static void add_anonymous(struct mapping_walk *w, const struct profile_mapping *m, const struct mapping_content *c)
{
        const struct profile_root *stack = stack_in(w->g->p, m);
        uint64_t bytes = m->end - m->start;

        if (stack || strcmp(m->name, "[stack]") == 0) {
                name_stack(w, stack ? stack->tid : w->g->p->meta.pid);
                ADD_ROW(w, "stack", str_get(&w->name), m->start, bytes, m->rss_bytes, 0);
        } else if (c->region) {
                str_clear(&w->name);
                maker_write(w->g->p, maker_of(w->g->p, w->g->s, c->region->site), 0, &w->name);
                ADD_ROW(w, "mmap", str_get(&w->name), m->start, bytes, m->rss_bytes, c->blocks);
        } else if (c->blocks || strcmp(m->name, "[heap]") == 0) {
                add_heap(w, m, c);
        } else {
                ADD_ROW(w, "other", m->name[0] ? m->name : "anonymous memory", m->start, bytes, m->rss_bytes, 0);
        }
}

static bool is_ours(const struct profile_mapping *m)
{
        return strncmp(m->name, "/memfd:seep", 11) == 0 || strcmp(label_base(m->name), "libseep.so") == 0;
}

static void add_mapping(struct mapping_walk *w, const struct profile_mapping *m)
{
        struct mapping_content c = look_into(w, m);
        const struct profile_mapping *file = m->name[0] == '/' ? m : NULL;
        bool module = file && is_module(w->g->p, file);

        if (!m->name[0] && w->before && w->before->end == m->start && !c.blocks && !c.region) {
                file = w->before; /* its zeroed data, behind the rest of it */
                module = true;
        }
        if (!file)
                add_anonymous(w, m, &c);
        else if (is_ours(file))
                ADD_ROW(w, "seep", "seep itself", m->start, m->end - m->start, m->rss_bytes, 0);
        else
                ADD_ROW(w, module ? "module" : "file", file->name, m->start, m->end - m->start, m->rss_bytes, 0);
        w->before = module && file == m ? m : NULL;
}

/* The recording has no look at the mappings: what is known without one.  How much of it is resident is not. */
static void add_known(struct mapping_walk *w)
{
        const struct profile *p = w->g->p;

        if (p->totals.live_blocks)
                ADD_ROW(w, "heap", "blocks that the program asked for", 0, p->totals.live_bytes, GRID_NONE, p->totals.live_blocks);
        for (uint32_t i = 0; i < p->region_count; i++) {
                str_clear(&w->name);
                maker_write(p, maker_of(p, w->g->s, w->regions[i].site), 0, &w->name);
                ADD_ROW(w, "mmap", str_get(&w->name), w->regions[i].start, w->regions[i].end - w->regions[i].start, GRID_NONE, 0);
        }
        for (uint32_t i = 0; i < p->root_count; i++)
                if (p->roots[i].kind == PROFILE_ROOT_STACK) {
                        name_stack(w, p->roots[i].tid);
                        ADD_ROW(w, "stack", str_get(&w->name), p->roots[i].start, p->roots[i].end - p->roots[i].start, GRID_NONE, 0);
                }
        for (uint32_t i = 0; i < p->module_count; i++)
                if (!p->modules[i].gone_ms && p->modules[i].end > p->modules[i].start)
                        ADD_ROW(w, "module", p->modules[i].path, p->modules[i].start, p->modules[i].end - p->modules[i].start, GRID_NONE, 0);
}

void page_write_mappings(struct page *g)
{
        const struct profile *p = g->p;
        struct mapping_walk w = { .g = g, .regions = heap_zero(p->region_count, sizeof *w.regions) };

        grid_start(&w.grid, "class name address bytes rss_bytes blocks");
        if (p->region_count) {
                memcpy(w.regions, p->regions, p->region_count * sizeof *w.regions);
                qsort(w.regions, p->region_count, sizeof *w.regions, compare_regions);
        }
        for (uint32_t i = 0; i < p->mapping_count; i++)
                add_mapping(&w, &p->mappings[i]);
        if (w.spare_bytes)
                ADD_ROW(&w, "allocator overhead", "what the allocator keeps beyond the blocks", 0, w.spare_bytes, w.spare_rss, 0);
        if (!p->mapping_count)
                add_known(&w);
        page_name(g, "mappings");
        str_format(g->out, "{\"at\":\"%s\",\"ms\":%" PRIu64, p->meta.end == PROFILE_END_UNKNOWN ? "last look" : "end", p->totals.mappings_ms);
        page_table(g, "rows", &w.grid);
        str_char(g->out, '}');
        pairs_free(&w.known);
        free(w.regions);
        str_free(&w.name);
}

void page_write_resources(struct page *g)
{
        const struct select_request request = { .cost = SELECT_LIVE, .resources = true, .each_site = true, .filter = g->r->filter };
        struct selection sel;
        struct err unused;
        struct grid t;

        grid_start(&t, "type node acquired released held amount");
        if (select_make(&sel, g->p, g->s, &request, &unused))
                for (uint32_t i = 0; i < sel.heap.count; i++) {
                        const struct select_row *row = &sel.heap.rows[i];

                        GRID_ROW(&t, lexicon_of(&g->lexicon, profile_kind_name(g->p, row->kind)), calls_node(&g->calls, row->node),
                                 (int64_t)row->allocs, (int64_t)row->frees, (int64_t)row->live_blocks, (int64_t)row->live_bytes);
                }
        select_free(&sel);
        page_table(g, "resources", &t);
}
