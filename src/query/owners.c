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

/* Blocks of one call stack (the nodes of a list with two ends) are one part, with the name of the
 * largest. */
static void find_parts(struct owners *w, const uint32_t *of_hold)
{
        const struct graph_part *parts = w->retained.parts;
        uint32_t count = 0;

        w->parts = heap_zero(w->p->site_count + 1u, sizeof *w->parts);
        for (uint32_t i = 0; i <= w->p->site_count; i++)
                if (parts[i].heads)
                        w->parts[count++] = (struct owners_part){ .block = parts[i].block,
                                                                  .site = i,
                                                                  .heads = parts[i].heads,
                                                                  .kept = parts[i].kept };
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
                w->all.bytes += dense_size(graph_dense(w->graph), (uint32_t)i);
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
                w->list[owner].own.bytes += dense_size(graph_dense(w->graph), block);
        }
        free(next);
        free(order);
        free(seen);
}

static void find_owners(struct owners *w, const struct graph_wish *wish)
{
        uint32_t *of_hold = heap_zero(w->p->hold_count, sizeof *of_hold);
        struct graph_owners owners = { .of_hold = of_hold };

        for (uint64_t i = 0; i < w->p->hold_count; i++)
                of_hold[i] = owner_of(w, i);
        owners.count = w->count;
        graph_retain(w->graph, &owners, wish, &w->retained);
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
        find_parts(w, of_hold);
        free(of_hold);
}

void owners_make(struct owners *w, const struct profile *p, struct symbols *s,
                 const struct graph_wish *wish)
{
        owners_start(w, p, s);
        find_owners(w, wish);
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
