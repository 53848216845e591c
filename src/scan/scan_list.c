/* SPDX-License-Identifier: MIT */
#include "scan/scan_list.h"

#include <stdlib.h>

#include "base/find.h"
#include "base/heap.h"
#include "base/order.h"
#include "leak/huge_array.h"

#define IS_ROOT SEARCH_BLOCK_OTHERS
#define NESTED_MAX 64u /* blocks that may lie between a block and one that it is in */

ORDER_BY(by_start, struct search_range, start)

struct search_range *scan_list_root_memory(const struct roots *r, uint32_t *count)
{
        struct search_range *all = heap_zero(r->count, sizeof *all);

        *count = 0;
        for (uint32_t i = 0; i < r->count; i++)
                if (r->at[i].kind != PROFILE_ROOT_REGISTER)
                        all[(*count)++] = (struct search_range){ r->at[i].start, r->at[i].end };
        if (*count)
                qsort(all, *count, sizeof *all, by_start);
        return all;
}

/* Returns whether a block is a root. */
static bool mark_used(struct scan_list *l, const struct roots_used *u)
{
        uint64_t i = FIND_FIRST(l->count, k, l->at[k].address < u->end);
        bool found = false;

        for (uint32_t others = 0; i-- > 0 && others < NESTED_MAX;) {
                struct search_block *b = &l->at[i];
                bool inside = b->address + b->size > u->start;

                if (inside)
                        b->flags |= u->tls ? IS_ROOT : SEARCH_BLOCK_IGNORED;
                found |= inside;
                others = inside ? 0 : others + 1;
        }
        return found && u->tls;
}

bool scan_list_mark_used(struct scan_list *l, const struct roots *r)
{
        bool roots = false;

        for (uint32_t i = 0; i < r->used_count; i++)
                roots |= mark_used(l, &r->used[i]);
        return roots;
}

void scan_list_leave_roots(struct scan_list *l, struct scan_origin *o)
{
        uint64_t kept = 0;

        for (uint64_t i = 0; i < l->count; i++)
                if (!(l->at[i].flags & IS_ROOT)) {
                        if (l->known)
                                l->known[kept] = l->known[i];
                        if (o->places) {
                                o->places[kept] = o->places[i];
                                o->block_of[kept] = o->block_of[i];
                        }
                        l->at[kept++] = l->at[i];
                }
        l->count = kept;
}

static void bound_passage(struct search_block *b, uint32_t known, const struct search_range *root)
{
        if (!root || b->address + b->size <= root->start)
                return;
        if (root->start > b->address)
                b->size = root->start - b->address;
        else if (b->size > known)
                b->size = known;
}

void scan_list_bound_passages(struct scan_list *l, const struct roots *r)
{
        uint32_t count, k = 0;
        struct search_range *memory;

        if (!l->known)
                return;
        memory = scan_list_root_memory(r, &count);
        for (uint64_t i = 0; i < l->count; i++) {
                struct search_block *b = &l->at[i];

                while (k < count && memory[k].end <= b->address)
                        k++;
                if ((b->flags & SEARCH_BLOCK_PASSAGE) && l->known[i])
                        bound_passage(b, l->known[i], k < count ? &memory[k] : NULL);
        }
        free(memory);
}

/* From the last one on, so that every block moves once. */
void scan_list_add_passages(struct scan_list *l, struct scan_origin *o,
                            const struct search_range *passages, uint64_t count)
{
        uint64_t i = l->count, k = count, all = i + k;

        if (!o->block_of)
                scan_origin_number(o, i);
        l->at = huge_array_grow(l->at, all, sizeof *l->at);
        o->places = huge_array_grow(o->places, all, sizeof *o->places);
        o->block_of = heap_grow(o->block_of, all, sizeof *o->block_of);
        l->count = all;
        while (k) {
                const struct search_range *r = &passages[k - 1];
                bool block = i && l->at[i - 1].address > r->start;
                uint64_t to = i + k - 1;

                l->at[to] = block ? l->at[i - 1]
                                  : (struct search_block){ .address = r->start,
                                                           .size = r->end - r->start,
                                                           .flags = SEARCH_BLOCK_PASSAGE };
                o->places[to] = block ? o->places[i - 1] : 0;
                o->block_of[to] = block ? o->block_of[i - 1] : 0;
                i -= block;
                k -= !block;
        }
}
