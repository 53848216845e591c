/* SPDX-License-Identifier: MIT */
/*
 * scan_store.c -- what a search found, in the terms of a profile.
 *
 * Room:   outside.
 */
#include "scan/scan_store.h"

#include <stdlib.h>

#include "base/heap.h"
#include "profile/packed.h"

#define CONTENTS_MAX 65536u

/* ---- verdicts ---- */

static bool was_lost(const struct scan_result *r, const struct profile_block *b)
{
        uint64_t low = 0, high = r->lost_count;

        while (low < high) {
                uint64_t middle = low + (high - low) / 2;

                if (r->lost[middle].address < b->address)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low < r->lost_count && r->lost[low].address == b->address && r->lost[low].birth_ms == b->birth_ms;
}

/* An allocator holds what it got for itself in its own data, which is not searched. */
static bool is_allocators(const struct scan_result *r, const struct profile *p, const struct profile_block *b)
{
        return r->roots->allocator != PROFILE_NO_MODULE && p->nodes[p->sites[b->site].node].module == r->roots->allocator;
}

/* About the searched block I, which is B of the profile. */
static struct profile_verdict judge(const struct scan_result *r, const struct profile *p, uint64_t i, const struct profile_block *b)
{
        const struct search_graph *g = r->graph;
        struct profile_verdict v = { .leak = g->leak[i] == PROFILE_LEAK_UNKNOWN ? PROFILE_LEAK_REACHABLE : g->leak[i] };

        if (v.leak > PROFILE_LEAK_REACHABLE && is_allocators(r, p, b))
                v.leak = PROFILE_LEAK_REACHABLE;
        v.vtable = g->vtables[i];
        v.head = g->head[i] ? r->block_of[g->head[i] - 1] : 0;
        if (r->blocks[i].flags & SEARCH_BLOCK_IGNORED)
                v.flags |= PROFILE_VERDICT_IGNORED;
        if (g->idiom[i])
                v.flags |= PROFILE_VERDICT_IDIOM;
        if (r->lost && v.leak >= PROFILE_LEAK_INDIRECT && !was_lost(r, b))
                v.flags |= PROFILE_VERDICT_NEW;
        return v;
}

static void add_content(const struct scan_result *r, struct profile *p, const struct packed_walk *w, uint32_t *room)
{
        struct profile_content c = { .block = (uint32_t)w->index };
        uint64_t size = w->block->size;

        c.bytes = (uint32_t)freeze_read(r->freeze, w->block->address, c.data, size < PROFILE_CONTENT_BYTES ? size : PROFILE_CONTENT_BYTES);
        if (p->content_count == *room) {
                *room = *room ? *room * 2 : 64;
                p->contents = heap_grow(p->contents, *room, sizeof *p->contents);
        }
        p->contents[p->content_count++] = c;
}

uint64_t scan_store_verdicts(const struct scan_result *r, struct profile *p)
{
        struct packer *verdicts = packer_verdicts(p);
        uint64_t definite = 0, i = 0;
        struct packed_walk w;
        uint32_t room = 0;

        packed_open(&w, p);
        while (packed_next(&w)) {
                struct profile_verdict v = { .leak = PROFILE_LEAK_REACHABLE };

                while (i < r->graph->block_count && r->block_of[i] <= w.index)
                        i++;
                if (i < r->graph->block_count && r->block_of[i] == w.index + 1)
                        v = judge(r, p, i, w.block);
                definite += v.leak == PROFILE_LEAK_DEFINITE;
                if (v.leak >= PROFILE_LEAK_POSSIBLE && p->content_count < CONTENTS_MAX)
                        add_content(r, p, &w, &room);
                packer_add(verdicts, &v);
        }
        packed_close(&w);
        packer_end(verdicts, p);
        return definite;
}

/* ---- graph ---- */

static uint32_t pointer_flags(uint32_t to)
{
        return (to & SEARCH_LINK_INTERIOR ? PROFILE_POINTER_INTERIOR : 0) | (to & SEARCH_LINK_IDIOM ? PROFILE_POINTER_IDIOM : 0);
}

static void store_holds(const struct scan_result *r, struct profile *p)
{
        const struct search_graph *g = r->graph;

        p->holds = heap_zero(g->hold_count, sizeof *p->holds);
        for (uint64_t i = 0; i < g->hold_count; i++) {
                const struct search_hold *h = &g->holds[i];
                uint32_t block = r->block_of[SEARCH_LINK_TO(*h)];

                if (block)
                        p->holds[p->hold_count++] = (struct profile_hold){ .at = h->at, .from = h->root, .to = block - 1,
                                                                           .flags = pointer_flags(h->to) };
        }
}

static struct profile_pointer pointer_of(const struct search_graph *g, const struct search_link *l, uint64_t size)
{
        if (l->at == SEARCH_AT_ARENA)
                return (struct profile_pointer){ .at = size, .flags = PROFILE_POINTER_ARENA };
        return (struct profile_pointer){ .at = (uint64_t)l->at * g->unit, .flags = pointer_flags(l->to) };
}

static void store_pointers(const struct scan_result *r, struct profile *p)
{
        const struct search_graph *g = r->graph;

        p->pointers = heap_zero(g->link_count, sizeof *p->pointers);
        for (uint64_t i = 0; i < g->block_count; i++)
                for (uint64_t k = g->first[i]; r->block_of[i] && k < g->first[i + 1]; k++) {
                        const struct search_link *l = &g->links[k];
                        uint32_t block = r->block_of[SEARCH_LINK_TO(*l)];
                        struct profile_pointer *to = &p->pointers[p->pointer_count];

                        if (!block)
                                continue;
                        *to = pointer_of(g, l, r->blocks[i].size);
                        to->from = r->block_of[i] - 1;
                        to->to = block - 1;
                        p->pointer_count++;
                }
}

void scan_store_graph(struct scan_result *r, struct profile *p)
{
        p->roots = r->roots->at;
        p->root_count = r->roots->count;
        r->roots->at = NULL;
        store_holds(r, p);
        store_pointers(r, p);
}
