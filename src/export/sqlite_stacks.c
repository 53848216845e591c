/* SPDX-License-Identifier: MIT */
/*
 * sqlite_stacks.c -- frames, stacks, and what each of them did, as rows.
 *
 * Room:   outside.
 */
#include "base/heap.h"
#include "export/sqlite_parts.h"
#include "query/errors.h"
#include "words/label.h"

/* Which frames there are; those of wrong releases too, whatever is selected. */
static void meet_frames(struct sqlite_parts *m)
{
        const struct select_part *parts[] = { &m->sel->heap, &m->sel->mapped };

        for (int k = 0; k < 2; k++)
                for (uint32_t i = 0; i < parts[k]->count; i++)
                        frames_meet(&m->frames, m->sel, parts[k]->rows[i].node);
        for (uint32_t i = 0; i < m->resources->heap.count; i++)
                frames_meet(&m->frames, m->resources, m->resources->heap.rows[i].node);
        for (uint32_t i = 0; i < m->p->error_count; i++) {
                uint32_t origin = errors_origin(m->p, &m->p->errors[i]);

                frames_meet(&m->frames, m->whole, m->p->errors[i].node);
                frames_meet(&m->frames, m->whole, m->p->errors[i].free_node);
                if (origin)
                        frames_meet(&m->frames, m->whole, m->p->sites[origin].node);
        }
}

static void put_frame(struct sqlite_parts *m, uint32_t node, const struct symbol_frame *frame, uint32_t id)
{
        const struct profile_node *n = &m->p->nodes[node];
        struct str name = { 0 };

        label_function(m->p, node, frame, &name);
        m->names[id] = strings_number(&m->functions, str_get(&name));
        rows_number(&m->rows, id);
        rows_text(&m->rows, str_get(&name));
        rows_text(&m->rows, frame->function);
        rows_text(&m->rows, frame->file);
        rows_some(&m->rows, frame->line);
        if (n->module < m->p->module_count)
                rows_number(&m->rows, n->module);
        else
                rows_null(&m->rows);
        rows_number(&m->rows, n->pc);
        rows_number(&m->rows, frame->inlined);
        rows_next(&m->rows);
        str_free(&name);
}

static void put_frames(struct sqlite_parts *m)
{
        uint32_t id = 0;

        m->names = heap_zero(m->frames.next + 1ull, sizeof *m->names);
        rows_begin(&m->rows, "frame");
        for (uint32_t i = 0; i < m->frames.node_count; i++) {
                const struct symbol_frame *frames;
                uint32_t count = symbols_node(m->symbols, m->frames.nodes[i], &frames);

                for (uint32_t k = 0; k < count; k++)
                        put_frame(m, m->frames.nodes[i], &frames[k], ++id);
        }
        rows_end(&m->rows);
}

/* The frames of NODE's stack in SEL's tree, innermost first, as far as no other stack has had them; they go to m->path.  How many.  *OUTER is
 * the id of the stack around them; 0 none. */
static uint32_t new_part(struct sqlite_parts *m, const struct selection *sel, const uint32_t *ends, uint32_t node, uint32_t *outer)
{
        uint32_t length = 0;

        *outer = 0;
        for (bool inner = true; node > LEDGER_NODE_CUT; node = select_parent(sel, node), inner = false) {
                if (!inner && symbols_hides(m->symbols, select_origin(sel, node)))
                        break;
                if (ends[node]) {
                        *outer = ends[node];
                        break;
                }
                if (length == m->path_room) {
                        m->path_room = m->path_room ? 2 * m->path_room : 1024;
                        m->path = heap_grow(m->path, m->path_room, sizeof *m->path);
                }
                m->path[length++] = node;
        }
        return length;
}

static void keep_stack(struct sqlite_parts *m, uint32_t outer, uint32_t frame)
{
        if (++m->stack_count >= m->stack_room) {
                m->stack_room = m->stack_room ? 2 * m->stack_room : 1024;
                m->stacks = heap_grow(m->stacks, m->stack_room, sizeof *m->stacks);
        }
        m->stacks[m->stack_count] = (struct sqlite_stack){ outer, frame };
}

/* One row for each frame, those inlined at an address too; outer ones come first. */
static void put_stack(struct sqlite_parts *m, const struct selection *sel, uint32_t *ends, uint32_t node)
{
        uint32_t outer, length = new_part(m, sel, ends, node, &outer);

        while (length--) {
                uint32_t origin = select_origin(sel, m->path[length]);

                for (uint32_t level = m->frames.length[origin]; level-- > 0;) {
                        keep_stack(m, outer, m->frames.place[origin] + level);
                        rows_number(&m->rows, m->stack_count);
                        rows_some(&m->rows, outer);
                        rows_number(&m->rows, m->frames.place[origin] + level);
                        rows_next(&m->rows);
                        outer = m->stack_count;
                }
                ends[m->path[length]] = outer;
        }
}

static void put_all_stacks(struct sqlite_parts *m)
{
        const struct select_part *parts[] = { &m->sel->heap, &m->sel->mapped };

        rows_begin(&m->rows, "stack");
        for (int k = 0; k < 2; k++)
                for (uint32_t i = 0; i < parts[k]->count; i++)
                        put_stack(m, m->sel, m->ends, parts[k]->rows[i].node);
        for (uint32_t i = 0; i < m->resources->heap.count; i++)
                put_stack(m, m->resources, m->resource_ends, m->resources->heap.rows[i].node);
        for (uint32_t i = 0; i < m->p->error_count; i++) {
                uint32_t origin = errors_origin(m->p, &m->p->errors[i]);

                put_stack(m, m->whole, m->whole_ends, m->p->errors[i].node);
                put_stack(m, m->whole, m->whole_ends, m->p->errors[i].free_node);
                put_stack(m, m->whole, m->whole_ends, origin ? m->p->sites[origin].node : 0);
        }
        rows_end(&m->rows);
}

/* The first frame that is not only passing an allocation on. */
static uint32_t place_of(struct sqlite_parts *m, uint32_t node)
{
        uint32_t origin = select_origin(m->sel, node), place = m->frames.place[origin];
        struct wrapper_frame shown = wrappers_trim(&m->wrappers, m->p, m->symbols, origin);

        return m->frames.place[shown.node] ? m->frames.place[shown.node] + shown.level : place;
}

static void put_leaks(struct sqlite_parts *m, uint32_t site)
{
        struct leaks_sum sums[PROFILE_LEAK_COUNT];
        static const uint32_t classes[] = { PROFILE_LEAK_DEFINITE, PROFILE_LEAK_INDIRECT, PROFILE_LEAK_POSSIBLE, PROFILE_LEAK_REACHABLE };

        if (!leaks_of_site(&m->leaks, site, sums)) {
                for (size_t i = 0; i < 2 + 2 * sizeof classes / sizeof *classes; i++)
                        rows_null(&m->rows);
                return;
        }
        rows_number(&m->rows, sums[PROFILE_LEAK_DEFINITE].blocks + sums[PROFILE_LEAK_INDIRECT].blocks);
        rows_number(&m->rows, sums[PROFILE_LEAK_DEFINITE].bytes + sums[PROFILE_LEAK_INDIRECT].bytes);
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
        const uint64_t numbers[] = { row->allocs, row->frees, row->alloc_bytes, row->live_blocks, row->live_bytes };
        const uint64_t more[] = { row->peak_blocks, row->peak_bytes, row->temporary, row->lifetime_ms };

        rows_number(&m->rows, row->site);
        rows_some(&m->rows, row->node > LEDGER_NODE_CUT ? m->ends[row->node] : 0);
        rows_some(&m->rows, row->node > LEDGER_NODE_CUT ? place_of(m, row->node) : 0);
        rows_text(&m->rows, profile_kind_name(m->p, row->kind));
        rows_number(&m->rows, heap);
        rows_number(&m->rows, frames_cut_off(m->sel, row->node));
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
                rows_number(&m->rows, numbers[i]);
        for (size_t i = 0; i < sizeof more / sizeof *more; i++)
                rows_known(&m->rows, more[i], known);
        put_leaks(m, row->site);
        put_growth(m, row->site);
        rows_next(&m->rows);
}

static void put_all_sites(struct sqlite_parts *m)
{
        rows_begin(&m->rows, "site");
        for (uint32_t i = 0; i < m->sel->heap.count; i++)
                put_site(m, &m->sel->heap.rows[i], true);
        for (uint32_t i = 0; i < m->sel->mapped.count; i++)
                put_site(m, &m->sel->mapped.rows[i], false);
        rows_end(&m->rows);
}

static void put_shares(struct sqlite_parts *m)
{
        rows_begin(&m->rows, "share");
        for (uint32_t i = 0; i < m->p->share_count; i++) {
                const struct profile_share *share = &m->p->shares[i];

                if (share->site >= m->p->site_count || !m->chosen[share->site])
                        continue;
                if (share->thread < m->p->thread_count && !filter_thread(m->filter, &m->p->threads[share->thread]))
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

void sqlite_put_stacks(struct sqlite_parts *m)
{
        meet_frames(m);
        put_frames(m);
        put_all_stacks(m);
}

void sqlite_put_sites(struct sqlite_parts *m)
{
        put_all_sites(m);
        put_shares(m);
}
