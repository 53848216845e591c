/* SPDX-License-Identifier: MIT */
/*
 * owners.c -- the heap by what keeps it: who the owners are, and what they share.
 *
 * Keeps:  owners, what they share, what is ignored and what is lost add up to the whole heap.
 */
#include "query/owners.h"

#include <stdlib.h>

#include "base/heap.h"
#include "base/order.h"

enum { OWNERS_SHARED = 3 }; /* parts of what is shared that are looked at, the largest */

int owners_compare(const struct graph_sum *a, const struct graph_sum *b)
{
        return ORDER(b->bytes, a->bytes) ?: ORDER(b->blocks, a->blocks);
}

/* ---- owners ---- */

static uint32_t owner_of(struct owners *w, uint64_t hold)
{
        struct root_name root_name = root_name_of(w->p, w->s, hold);
        struct root_name_key key = root_name_key(w->p, &root_name);
        uint32_t number = TABLE_NUMBER(&w->table, table_hash(key.what, key.whose), n,
                                       w->list[n].key.what == key.what &&
                                               w->list[n].key.whose == key.whose);

        if (number == w->count) {
                w->list = heap_next(w->list, w->count, sizeof *w->list);
                w->list[w->count++] = (struct owner){ .root_name = root_name, .key = key,
                                                      .number = number };
        }
        w->list[number].pointers++;
        return number;
}

static int compare_owners(const void *a, const void *b)
{
        const struct owner *x = a, *y = b;
        int order = owners_compare(&x->kept, &y->kept);

        if (order)
                return order;
        return ORDER(x->key.what, y->key.what) ?: ORDER(x->root_name.at, y->root_name.at);
}

/* ---- what is shared ---- */

static int compare_parts(const void *a, const void *b)
{
        const struct owners_part *x = a, *y = b;
        int order = owners_compare(&x->kept, &y->kept);

        return order ? order : (x->block < y->block ? -1 : x->block > y->block);
}

static int compare_sites(const void *a, const void *b)
{
        const struct owners_part *x = a, *y = b;

        return x->site != y->site ? (x->site < y->site ? -1 : 1) : compare_parts(a, b);
}

/* Blocks of one call stack (the nodes of a list with two ends) are one part, with the name of the
 * largest; returns how many are left. */
static uint32_t merge_sites(struct owners_part *parts, uint32_t count)
{
        uint32_t used = 0;

        for (uint32_t i = 0; i < count; i++)
                if (used && parts[used - 1].site == parts[i].site) {
                        parts[used - 1].heads++;
                        parts[used - 1].kept.blocks += parts[i].kept.blocks;
                        parts[used - 1].kept.bytes += parts[i].kept.bytes;
                } else {
                        parts[used++] = parts[i];
                }
        return used;
}

/* Those of the firmest kind that hold it at all: what else does takes no part. */
static void find_holders(const struct owners *w, const uint32_t *of_hold, struct owners_part *part)
{
        uint8_t *met = heap_zero(w->count, sizeof *met);
        enum graph_rank rank = graph_rank_of(w->graph, part->block);
        uint64_t *holds, count = graph_holders(w->graph, part->block, &holds);

        part->holders = heap_zero(w->count, sizeof *part->holders);
        for (uint64_t i = 0; i < count; i++)
                if (graph_rank(w->p->roots[w->p->holds[holds[i]].from].kind) == rank)
                        met[w->place[of_hold[holds[i]]]] = 1;
        for (uint32_t i = 0; i < w->count; i++)
                if (met[i])
                        part->holders[part->count++] = i;
        free(holds);
        free(met);
}

static void find_parts(struct owners *w, const uint32_t *of_hold, const struct graph_retained *r)
{
        uint32_t count = r->shared_count;

        w->parts = heap_zero(count, sizeof *w->parts);
        for (uint32_t i = 0; i < count; i++)
                w->parts[i] = (struct owners_part){ .block = r->shared_heads[i],
                                                    .site = w->p->blocks[r->shared_heads[i]].site,
                                                    .heads = 1,
                                                    .kept = r->by_block[r->shared_heads[i]] };
        qsort(w->parts, count, sizeof *w->parts, compare_sites);
        count = merge_sites(w->parts, count);
        qsort(w->parts, count, sizeof *w->parts, compare_parts);
        w->part_count = count < OWNERS_SHARED ? count : OWNERS_SHARED;
        for (uint32_t i = 0; i < w->part_count; i++)
                find_holders(w, of_hold, &w->parts[i]);
}

/* ---- all of it ---- */

void owners_start(struct owners *w, const struct profile *p, struct symbols *s)
{
        *w = (struct owners){ .p = p, .s = s, .graph = graph_new(p) };
        for (uint64_t i = 0; i < p->block_count; i++) {
                w->all.blocks++;
                w->all.bytes += p->blocks[i].size;
        }
}

/* Each block counts once for an owner, however many of its pointers lead there: pointers are
 * looked at owner by owner. */
static void count_own(struct owners *w, const uint32_t *of_hold)
{
        uint64_t *next = heap_zero((size_t)w->count + 1, sizeof *next),
                 *order = heap_zero(w->p->hold_count, sizeof *order);
        uint32_t *seen = heap_zero(w->p->block_count, sizeof *seen);

        for (uint64_t i = 0; i < w->p->hold_count; i++)
                next[of_hold[i] + 1]++;
        for (uint32_t i = 0; i < w->count; i++)
                next[i + 1] += next[i];
        for (uint64_t i = 0; i < w->p->hold_count; i++)
                order[next[of_hold[i]]++] = i;
        for (uint64_t i = 0; i < w->p->hold_count; i++) {
                uint32_t owner = of_hold[order[i]], block = w->p->holds[order[i]].to;

                if (seen[block] == owner + 1)
                        continue;
                seen[block] = owner + 1;
                w->list[owner].own.blocks++;
                w->list[owner].own.bytes += w->p->blocks[block].size;
        }
        free(next);
        free(order);
        free(seen);
}

static void find_owners(struct owners *w)
{
        uint32_t *of_hold = heap_zero(w->p->hold_count, sizeof *of_hold);
        struct graph_owners owners = { .of_hold = of_hold };

        for (uint64_t i = 0; i < w->p->hold_count; i++)
                of_hold[i] = owner_of(w, i);
        owners.count = w->count;
        graph_retain(w->graph, &owners, NULL, &w->retained);
        for (uint32_t i = 0; i < w->count; i++)
                w->list[i].kept = w->retained.by_owner[i];
        count_own(w, of_hold);
        if (w->count)
                qsort(w->list, w->count, sizeof *w->list, compare_owners);
        while (w->keeping < w->count && w->list[w->keeping].kept.blocks)
                w->keeping++;
        w->place = heap_zero(w->count, sizeof *w->place);
        for (uint32_t i = 0; i < w->count; i++)
                w->place[w->list[i].number] = i;
        find_parts(w, of_hold, &w->retained);
        free(of_hold);
}

void owners_make(struct owners *w, const struct profile *p, struct symbols *s)
{
        owners_start(w, p, s);
        find_owners(w);
}

void owners_free(struct owners *w)
{
        for (uint32_t i = 0; i < w->part_count; i++)
                free(w->parts[i].holders);
        free(w->parts);
        free(w->place);
        free(w->list);
        table_free(&w->table);
        graph_retained_free(&w->retained);
        graph_free(w->graph);
}
