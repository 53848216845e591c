/* SPDX-License-Identifier: MIT */
/* sqlite_stacks.c -- rows about frames and stacks, and what each stack did. */
#include <stdlib.h>

#include "base/arrange.h"
#include "base/heap.h"
#include "export/frames.h"
#include "export/sqlite_parts.h"
#include "query/errors.h"
#include "words/label.h"

static void add_stack(struct sqlite_parts *m, const struct selection *sel, uint32_t *ends,
                      uint32_t node)
{
        if (node > LEDGER_NODE_CUT)
                calltree_add(&m->tree, sel, ends, (struct wrapper_frame){ node, 0 });
}

/* All stacks that rows will name; those of invalid frees too, whatever is selected. */
static void make_tree(struct sqlite_parts *m)
{
        const struct select_part *parts[] = { &m->sel->heap, &m->sel->mapped, &m->sel->older };

        calltree_start(&m->tree, m->p, m->symbols, CALLTREE_BY_PLACE);
        for (int k = 0; k < 3; k++)
                for (uint32_t i = 0; i < parts[k]->count; i++)
                        add_stack(m, m->sel, m->ends, parts[k]->rows[i].node);
        for (uint32_t i = 0; i < m->resources->heap.count; i++)
                add_stack(m, m->resources, m->resource_ends, m->resources->heap.rows[i].node);
        for (uint32_t i = 0; i < m->p->error_count; i++) {
                uint32_t origin = errors_origin(m->p, &m->p->errors[i]);

                add_stack(m, m->whole, m->whole_ends, m->p->errors[i].node);
                add_stack(m, m->whole, m->whole_ends, m->p->errors[i].free_node);
                add_stack(m, m->whole, m->whole_ends, origin ? m->p->sites[origin].node : 0);
        }
}

static void put_frame(struct sqlite_parts *m, uint32_t number, bool wanted)
{
        const struct calltree_frame *f = &m->tree.frames[number];
        const struct profile_node *n = &m->p->nodes[f->node];
        struct str name = { 0 };

        label_function(m->p, f->node, f->names, &name);
        m->names[number] = strings_number(&m->functions, str_get(&name));
        if (!wanted) {
                str_free(&name);
                return;
        }
        rows_number(&m->rows, number + 1ull);
        rows_text(&m->rows, str_get(&name));
        rows_text(&m->rows, symbol_name(f->names));
        rows_text(&m->rows, f->names->file ? f->names->file : f->names->script);
        rows_some(&m->rows, f->names->line);
        if (n->module < m->p->module_count)
                rows_number(&m->rows, n->module);
        else
                rows_null(&m->rows);
        rows_number(&m->rows, n->pc);
        rows_number(&m->rows, f->names->inlined);
        rows_next(&m->rows);
        str_free(&name);
}

/* One row for each frame, those inlined at an address too; outer ones come first. */
static void put_all_stacks(struct sqlite_parts *m)
{
        const struct branches *nodes = &m->tree.nodes;

        if (!rows_begin(&m->rows, "stack"))
                return;
        for (uint32_t i = 1; i < nodes->count; i++) {
                rows_number(&m->rows, i);
                rows_some(&m->rows, nodes->list[i].parent);
                rows_number(&m->rows, nodes->list[i].frame + 1ull);
                rows_next(&m->rows);
        }
        rows_end(&m->rows);
}

/* The first frame that is not only passing an allocation on. */
static uint32_t place_of(struct sqlite_parts *m, uint32_t node)
{
        const struct branches_node *nodes = m->tree.nodes.list;
        uint32_t at = m->ends[node];

        while (at && wrappers_has(&m->wrappers, m->tree.frames[nodes[at].frame].names))
                at = nodes[at].parent;
        return nodes[at ? at : m->ends[node]].frame + 1;
}

static void put_leaks(struct sqlite_parts *m, uint32_t site)
{
        struct leaks_sum sums[PROFILE_LEAK_COUNT];
        static const uint32_t classes[] = { PROFILE_LEAK_DEFINITE, PROFILE_LEAK_INDIRECT,
                                            PROFILE_LEAK_POSSIBLE, PROFILE_LEAK_REACHABLE };

        if (!leaks_of_site(&m->leaks, site, sums)) {
                for (size_t i = 0; i < 2 + 2 * sizeof classes / sizeof *classes; i++)
                        rows_null(&m->rows);
                return;
        }
        rows_number(&m->rows,
                    sums[PROFILE_LEAK_DEFINITE].blocks + sums[PROFILE_LEAK_INDIRECT].blocks);
        rows_number(&m->rows,
                    sums[PROFILE_LEAK_DEFINITE].bytes + sums[PROFILE_LEAK_INDIRECT].bytes);
        for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
                rows_number(&m->rows, sums[classes[i]].blocks);
                rows_number(&m->rows, sums[classes[i]].bytes);
        }
}

static void put_growth(struct sqlite_parts *m, uint32_t site)
{
        const struct growth *g = &m->growth[site];

        if (g->class == GROWTH_UNKNOWN)
                rows_null(&m->rows);
        else
                rows_text(&m->rows, growth_word(g->class));
        if (g->class == GROWTH_GROWS)
                rows_real(&m->rows, g->bytes_per_s);
        else
                rows_null(&m->rows);
}

static void put_site(struct sqlite_parts *m, const struct select_row *row, bool heap)
{
        bool known = m->sel->moment == SELECT_OF_RUN;
        const uint64_t numbers[] = { row->allocs, row->frees, row->alloc_bytes, row->live_blocks,
                                     row->live_bytes };
        const uint64_t more[] = { row->peak_blocks, row->peak_bytes, row->temporary,
                                  row->lifetime_ms };

        rows_number(&m->rows, row->site);
        rows_some(&m->rows, row->node > LEDGER_NODE_CUT ? m->ends[row->node] : 0);
        rows_some(&m->rows, row->node > LEDGER_NODE_CUT ? place_of(m, row->node) : 0);
        rows_text(&m->rows, profile_kind_name(m->p, row->kind));
        rows_number(&m->rows, heap);
        rows_number(&m->rows, m->cuts && frames_cut_off(m->sel, row->node));
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
                rows_number(&m->rows, numbers[i]);
        for (size_t i = 0; i < sizeof more / sizeof *more; i++)
                rows_known(&m->rows, more[i], known);
        put_leaks(m, row->site);
        put_growth(m, row->site);
        rows_next(&m->rows);
}

static void put_shares(struct sqlite_parts *m)
{
        if (!rows_begin(&m->rows, "share"))
                return;
        for (uint32_t i = 0; i < m->p->share_count; i++) {
                const struct profile_share *share = &m->p->shares[i];

                if (share->site >= m->p->site_count || !m->chosen[share->site])
                        continue;
                if (share->thread < m->p->thread_count &&
                    !filter_thread(m->filter, &m->p->threads[share->thread]))
                        continue;
                rows_number(&m->rows, m->sel->leaders[share->site]);
                rows_number(&m->rows, share->thread);
                rows_number(&m->rows, share->allocs);
                rows_number(&m->rows, share->alloc_bytes);
                rows_number(&m->rows, share->frees);
                rows_number(&m->rows, share->free_bytes);
                rows_number(&m->rows, share->temporary);
                rows_next(&m->rows);
        }
        rows_end(&m->rows);
}

/* The names of all frames, which functions are summed up by too. */
static void put_frames(struct sqlite_parts *m)
{
        bool wanted = rows_begin(&m->rows, "frame");

        if (!wanted && !rows_wanted(&m->rows, "by_function"))
                return;
        m->names = heap_zero(m->tree.frame_count, sizeof *m->names);
        for (uint32_t i = 0; i < m->tree.frame_count; i++)
                put_frame(m, i, wanted);
        if (wanted)
                rows_end(&m->rows);
}

/* Tables whose rows name a stack, or a frame of one. */
void sqlite_put_stacks(struct sqlite_parts *m)
{
        static const char *const tables[] = { "frame", "stack", "site", "by_function", "error",
                                              "resource" };

        for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
                if (rows_wanted(&m->rows, tables[i])) {
                        make_tree(m);
                        break;
                }
        put_frames(m);
        put_all_stacks(m);
}

uint32_t *sqlite_by_site(const struct select_part *heap, const struct select_part *mapped)
{
        uint32_t count = heap->count + mapped->count, *order = arrange_start(count);
        uint64_t *keys = heap_grow(NULL, count, sizeof *keys);

        for (uint32_t i = 0; i < count; i++)
                keys[i] = i < heap->count ? heap->rows[i].site : mapped->rows[i - heap->count].site;
        arrange_by(order, count, keys);
        free(keys);
        return order;
}

static void put_all_sites(struct sqlite_parts *m)
{
        const struct select_part *heap = &m->sel->heap, *mapped = &m->sel->mapped;
        uint32_t *order;

        if (!rows_begin(&m->rows, "site"))
                return;
        order = sqlite_by_site(heap, mapped);
        for (uint32_t i = 0; i < heap->count + mapped->count; i++) {
                uint32_t row = order[i];

                if (row < heap->count)
                        put_site(m, &heap->rows[row], true);
                else
                        put_site(m, &mapped->rows[row - heap->count], false);
        }
        for (uint32_t i = 0; i < m->sel->older.count; i++) /* the last sites of all */
                put_site(m, &m->sel->older.rows[i], false);
        rows_end(&m->rows);
        free(order);
}

void sqlite_put_sites(struct sqlite_parts *m)
{
        put_all_sites(m);
        put_shares(m);
}
