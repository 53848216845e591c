/* SPDX-License-Identifier: MIT */
/* sqlite_heap.c -- rows about live blocks and what holds them, invalid frees, resources. */
#include <stdlib.h>

#include "base/heap.h"
#include "export/sqlite_parts.h"
#include "profile/packed.h"
#include "query/errors.h"
#include "query/root_name.h"

static bool is_chosen(const struct sqlite_parts *m, uint32_t site)
{
        return site < m->p->site_count && m->chosen[site];
}

static void put_verdict(struct sqlite_parts *m, const struct packed_walk *w)
{
        const struct profile_verdict *v = w->verdict;

        if (!v || v->leak == PROFILE_LEAK_UNKNOWN) {
                for (int i = 0; i < 4; i++)
                        rows_null(&m->rows);
                return;
        }
        rows_text(&m->rows, profile_leak_word(v->leak));
        rows_some(&m->rows, v->head);
        rows_number(&m->rows, (v->flags & PROFILE_VERDICT_NEW) != 0);
        rows_number(&m->rows, m->leaks.silent && m->leaks.silent[w->index]);
}

/* Block i of the profile has the id i + 1. */
static void put_blocks(struct sqlite_parts *m)
{
        bool wanted = rows_begin(&m->rows, "block");
        struct packed_walk w;

        if (!wanted && !rows_wanted(&m->rows, "hold") && !rows_wanted(&m->rows, "ref"))
                return;
        packed_open(&w, m->p);
        while (packed_next(&w)) {
                const struct profile_block *b = w.block;
                const struct profile_content *content;

                if (!is_chosen(m, b->site))
                        continue;
                m->has_block[w.index] = 1;
                if (!wanted)
                        continue;
                rows_number(&m->rows, w.index + 1);
                rows_number(&m->rows, b->address);
                rows_number(&m->rows, b->size);
                rows_number(&m->rows, m->sel->leaders[b->site]);
                rows_some(&m->rows, b->thread);
                rows_number(&m->rows, b->birth_ms);
                put_verdict(m, &w);
                content = leaks_content(m->p, (uint32_t)w.index);
                if (content)
                        rows_blob(&m->rows, content->data, content->bytes);
                else
                        rows_null(&m->rows);
                rows_next(&m->rows);
        }
        packed_close(&w);
        if (wanted)
                rows_end(&m->rows);
}

static void put_regions(struct sqlite_parts *m)
{
        if (!rows_begin(&m->rows, "region"))
                return;
        for (uint32_t i = 0; i < m->p->region_count; i++) {
                const struct profile_region *r = &m->p->regions[i];

                if (!is_chosen(m, r->site))
                        continue;
                rows_number(&m->rows, i + 1);
                rows_number(&m->rows, r->start);
                rows_number(&m->rows, r->end);
                rows_number(&m->rows, m->sel->leaders[r->site]);
                rows_some(&m->rows, r->thread);
                rows_number(&m->rows, r->birth_ms);
                rows_number(&m->rows, r->stack);
                rows_next(&m->rows);
        }
        rows_end(&m->rows);
}

static bool has_block(const struct sqlite_parts *m, uint32_t block)
{
        return block < m->p->block_count && m->has_block[block];
}

static void put_roots(struct sqlite_parts *m)
{
        static const char *const words[] = {
#define ROOT_WORD(name, number, word) [number] = word,
                PROFILE_ROOTS(ROOT_WORD)
#undef ROOT_WORD
        };

        if (!rows_begin(&m->rows, "root"))
                return;
        for (uint32_t i = 0; i < m->p->root_count; i++) {
                const struct profile_root *r = &m->p->roots[i];

                rows_number(&m->rows, i + 1);
                rows_text(&m->rows, r->kind < PROFILE_ROOT_COUNT ? words[r->kind] : NULL);
                rows_number(&m->rows, r->start);
                rows_number(&m->rows, r->end);
                rows_some(&m->rows, r->tid);
                if (r->module < m->p->module_count)
                        rows_number(&m->rows, r->module);
                else
                        rows_null(&m->rows);
                rows_next(&m->rows);
        }
        rows_end(&m->rows);
}

static void put_holds(struct sqlite_parts *m)
{
        struct str owner = { 0 };

        if (!rows_begin(&m->rows, "hold"))
                return;
        for (uint64_t i = 0; i < m->p->hold_count; i++) {
                const struct profile_hold *h = &m->p->holds[i];
                struct root_name place;

                if (!has_block(m, h->to) || h->from >= m->p->root_count)
                        continue;
                place = root_name_of(m->p, m->symbols, i);
                str_clear(&owner);
                root_name_owner(m->p, m->symbols, &place, &owner);
                rows_number(&m->rows, h->from + 1ull);
                rows_number(&m->rows, h->at);
                rows_number(&m->rows, h->to + 1ull);
                rows_number(&m->rows, (h->flags & PROFILE_POINTER_INTERIOR) != 0);
                rows_text(&m->rows, str_get(&owner));
                rows_next(&m->rows);
        }
        rows_end(&m->rows);
        str_free(&owner);
}

/* An arena is no pointer: what was carved from it is told by the addresses. */
static void put_ref(struct sqlite_parts *m, const struct profile_pointer *r)
{
        if (!has_block(m, r->from) || !has_block(m, r->to) || (r->flags & PROFILE_POINTER_ARENA))
                return;
        rows_number(&m->rows, r->from + 1ull);
        rows_number(&m->rows, r->to + 1ull);
        rows_number(&m->rows, r->at);
        rows_number(&m->rows, (r->flags & PROFILE_POINTER_INTERIOR) != 0);
        rows_next(&m->rows);
}

static void put_refs(struct sqlite_parts *m)
{
        const struct profile_pointer *list;
        struct packed_pointers w;
        uint64_t count;

        if (!rows_begin(&m->rows, "ref"))
                return;
        packed_pointers_open(&w, m->p);
        while ((list = packed_pointers_next(&w, &count)))
                for (uint64_t i = 0; i < count; i++)
                        put_ref(m, &list[i]);
        packed_pointers_close(&w);
        rows_end(&m->rows);
}

static uint32_t whole_stack(const struct sqlite_parts *m, uint32_t node)
{
        return node > LEDGER_NODE_CUT ? m->whole_ends[node] : 0;
}

static void put_errors(struct sqlite_parts *m)
{
        if (!rows_begin(&m->rows, "error"))
                return;
        for (uint32_t i = 0; i < m->p->error_count; i++) {
                const struct profile_error *error = &m->p->errors[i];
                uint32_t origin = errors_origin(m->p, error);

                rows_number(&m->rows, i + 1);
                rows_text(&m->rows, errors_word(error->type));
                rows_number(&m->rows, error->address);
                rows_some(&m->rows, error->size);
                rows_number(&m->rows, error->count);
                rows_number(&m->rows, error->first_ms);
                rows_some(&m->rows, error->thread);
                rows_some(&m->rows, whole_stack(m, error->node));
                rows_some(&m->rows, origin ? whole_stack(m, m->p->sites[origin].node) : 0);
                rows_some(&m->rows, whole_stack(m, error->free_node));
                rows_next(&m->rows);
        }
        rows_end(&m->rows);
}

static void put_resources(struct sqlite_parts *m)
{
        const struct select_part *all = &m->resources->heap, none = { 0 };
        uint32_t *order;

        if (m->resources == m->whole || !rows_begin(&m->rows, "resource"))
                return;
        order = sqlite_by_site(all, &none);
        for (uint32_t i = 0; i < all->count; i++) {
                const struct select_row *row = &all->rows[order[i]];

                rows_number(&m->rows, row->site);
                rows_text(&m->rows, profile_kind_name(m->p, row->kind));
                rows_some(&m->rows, row->node > LEDGER_NODE_CUT ? m->resource_ends[row->node] : 0);
                rows_number(&m->rows, row->allocs);
                rows_number(&m->rows, row->frees);
                rows_number(&m->rows, row->live_blocks);
                rows_number(&m->rows, row->alloc_bytes);
                rows_number(&m->rows, row->live_bytes);
                rows_next(&m->rows);
        }
        rows_end(&m->rows);
        free(order);
}

static void put_handles(struct sqlite_parts *m)
{
        uint8_t *chosen;

        if (m->resources == m->whole || !rows_begin(&m->rows, "handle"))
                return;
        chosen = select_sites(m->resources, &m->resources->heap);
        for (uint32_t i = 0; i < m->p->handle_count; i++) {
                const struct profile_handle *h = &m->p->handles[i];

                if (h->site >= m->p->site_count || !chosen[m->resources->leaders[h->site]])
                        continue;
                rows_number(&m->rows, m->resources->leaders[h->site]);
                rows_number(&m->rows, h->handle);
                rows_number(&m->rows, h->amount);
                rows_some(&m->rows, h->thread);
                rows_number(&m->rows, h->birth_ms);
                rows_next(&m->rows);
        }
        rows_end(&m->rows);
        free(chosen);
}

void sqlite_put_heap(struct sqlite_parts *m)
{
        m->has_block = heap_zero(m->p->block_count, 1);
        put_blocks(m);
        put_regions(m);
        put_roots(m);
        put_holds(m);
        put_refs(m);
        free(m->has_block);
        m->has_block = NULL;
}

void sqlite_put_others(struct sqlite_parts *m)
{
        put_errors(m);
        put_resources(m);
        put_handles(m);
}
