/* SPDX-License-Identifier: MIT */
#include "collect/sites.h"

#include <stdlib.h>

#include "base/heap.h"
#include "base/order.h"
#include "book/peak.h"
#include "collect/counters.h"

struct sites {
        const struct view *view;
        struct profile *p;
        const uint32_t *map;
        uint32_t map_count;
        uint32_t slot, thread;
        uint32_t share_room;
};

/* ---- which sites there are ---- */

struct pair {
        uint32_t node, kind, raw;
};

static int by_pair(const void *a, const void *b)
{
        const struct pair *x = a, *y = b;

        return ORDER(x->node, y->node) ?: ORDER(x->kind, y->kind) ?: ORDER(x->raw, y->raw);
}

/* Site 0 is unused; a kind of 0 is a site that is being made just now. */
static bool is_kind(const struct profile *p, uint32_t kind)
{
        if (LEDGER_KIND_IS_RESOURCE(kind))
                return kind - LEDGER_KIND_TYPE_FIRST < p->type_count;
        return LEDGER_KIND_HAS_ALIGNMENT(kind)
                       ? kind < 256
                       : kind > LEDGER_KIND_NONE && kind < LEDGER_KIND_COUNT;
}

static uint32_t list_pairs(const struct view *v, struct stacks *stacks, const struct profile *p,
                           struct pair *pairs, uint32_t count)
{
        struct ledger_site *raw = view_table(v, LEDGER_SITES, &count, sizeof *raw);
        uint32_t used = 0;

        for (uint32_t i = 1; i < count; i++)
                if (is_kind(p, raw[i].kind))
                        pairs[used++] = (struct pair){ stacks_node(stacks, raw[i].node),
                                                       LEDGER_KIND_PLAIN(raw[i].kind), i };
        free(raw);
        return used;
}

/* Number the pairs from 1 as they come: one thread made them, so each is there once. */
static uint32_t *take_sites(const struct view *v, struct stacks *stacks, struct profile *p,
                            uint32_t count)
{
        struct ledger_site *raw = view_table(v, LEDGER_SITES, &count, sizeof *raw);
        uint32_t *map = heap_zero(count, sizeof *map);

        p->sites = heap_zero((size_t)count + 1, sizeof *p->sites);
        p->site_count = 1;
        for (uint32_t i = 1; i < count; i++) {
                if (!is_kind(p, raw[i].kind))
                        continue;
                p->sites[p->site_count].node = stacks_node(stacks, raw[i].node);
                p->sites[p->site_count].kind = LEDGER_KIND_PLAIN(raw[i].kind);
                map[i] = p->site_count++;
        }
        free(raw);
        return map;
}

/* Number the distinct pairs from 1, in the order of the oldest of each, so that ids do not jump
 * about. */
static uint32_t *merge_sites(const struct view *v, struct stacks *stacks, struct profile *p,
                             uint32_t count)
{
        struct pair *pairs = heap_zero(count, sizeof *pairs);
        uint32_t *map = heap_zero(count, sizeof *map),
                 used = list_pairs(v, stacks, p, pairs, count);
        uint32_t *first = heap_zero(count, sizeof *first);

        qsort(pairs, used, sizeof *pairs, by_pair);
        for (uint32_t i = 0; i < used; i++) {
                bool again = i > 0 && pairs[i].node == pairs[i - 1].node &&
                             pairs[i].kind == pairs[i - 1].kind;

                first[pairs[i].raw] = again ? first[pairs[i - 1].raw] : pairs[i].raw;
        }
        p->sites = heap_zero((size_t)used + 1, sizeof *p->sites);
        p->site_count = 1;
        for (uint32_t i = 0; i < used; i++)
                map[pairs[i].raw] = i + 1; /* place in pairs, for the next loop */
        for (uint32_t raw = 1; raw < count; raw++) {
                const struct pair *one = map[raw] ? &pairs[map[raw] - 1] : NULL;

                if (one && first[raw] == raw) {
                        p->sites[p->site_count].node = one->node;
                        p->sites[p->site_count].kind = one->kind;
                        map[raw] = p->site_count++;
                } else if (one) {
                        map[raw] = map[first[raw]];
                }
        }
        free(first);
        free(pairs);
        return map;
}

/* ---- what they did ---- */

static void add_share(struct sites *s, uint32_t site, const struct ledger_counter *c)
{
        struct profile *p = s->p;

        if (p->share_count == s->share_room) {
                s->share_room = s->share_room ? s->share_room * 2 : p->site_count;
                p->shares = heap_grow(p->shares, s->share_room, sizeof *p->shares);
        }
        p->shares[p->share_count++] = (struct profile_share){
                .site = site,
                .thread = s->thread,
                .allocs = c->allocs,
                .alloc_bytes = c->alloc_bytes,
                .frees = c->frees,
                .free_bytes = c->free_bytes,
                .temporary = c->temporary,
        };
}

static void add_counter(struct sites *s, uint32_t site, const struct ledger_counter *c)
{
        struct profile_site *to = &s->p->sites[site];

        /* An arena's bytes may have become another's here. */
        if (c->allocs == 0 && c->frees == 0 && c->free_bytes == 0)
                return;
        to->allocs += c->allocs;
        to->alloc_bytes += c->alloc_bytes;
        to->frees += c->frees;
        to->live_bytes += c->alloc_bytes - c->free_bytes;
        to->lifetime_ms += c->lifetime_ms;
        to->temporary += c->temporary;
        peak_of(&s->view->head, c, &to->peak_bytes, &to->peak_blocks);
        add_share(s, site, c);
}

static void add_chunk(void *context, uint32_t slot, uint32_t first, const struct ledger_counter *c,
                      uint32_t count)
{
        struct sites *s = context;

        if (slot != s->slot) {
                struct counters_slot head;

                counters_slot(s->view, slot, &head);
                s->slot = slot;
                s->thread = head.thread < s->p->thread_count ? head.thread : 0;
        }
        for (uint32_t i = 0; i < count && first + i < s->map_count; i++)
                if (s->map[first + i])
                        add_counter(s, s->map[first + i], &c[i]);
}

static uint64_t not_negative(uint64_t n)
{
        return (int64_t)n < 0 ? 0 : n;
}

/* One slot's part may be negative, and was added as two's complement. */
static void finish_sum(struct profile_site *s)
{
        s->live_blocks = not_negative(s->allocs - s->frees);
        s->live_bytes = not_negative(s->live_bytes);
        s->peak_blocks = not_negative(s->peak_blocks);
        s->peak_bytes = not_negative(s->peak_bytes);
}

static int by_site_and_thread(const void *a, const void *b)
{
        const struct profile_share *x = a, *y = b;

        return ORDER(x->site, y->site) ?: ORDER(x->thread, y->thread);
}

static bool shares_are_sorted(const struct profile *p)
{
        for (uint32_t i = 1; i < p->share_count; i++)
                if (by_site_and_thread(&p->shares[i - 1], &p->shares[i]) > 0)
                        return false;
        return true;
}

/* Slots that served one thread after the other, and sites that became one, give equal pairs. */
static void merge_shares(struct profile *p)
{
        uint32_t kept = 0;

        if (!shares_are_sorted(p))
                qsort(p->shares, p->share_count, sizeof *p->shares, by_site_and_thread);
        for (uint32_t i = 0; i < p->share_count; i++) {
                struct profile_share *to = kept ? &p->shares[kept - 1] : NULL, one = p->shares[i];

                if (!to || to->site != one.site || to->thread != one.thread) {
                        p->shares[kept++] = one;
                        continue;
                }
                to->allocs += one.allocs;
                to->alloc_bytes += one.alloc_bytes;
                to->frees += one.frees;
                to->free_bytes += one.free_bytes;
                to->temporary += one.temporary;
        }
        p->share_count = kept;
}

uint32_t *sites_read(const struct view *v, struct stacks *stacks, struct profile *p,
                     uint32_t *count)
{
        struct sites s = { .view = v, .p = p, .slot = UINT32_MAX };
        uint32_t *map;

        *count = counters_sites(v);
        map = stacks->alone && !v->head.aligned_kinds ? take_sites(v, stacks, p, *count)
                                                      : merge_sites(v, stacks, p, *count);
        s.map = map;
        s.map_count = *count;
        counters_each(v, add_chunk, &s);
        for (uint32_t i = 1; i < p->site_count; i++)
                finish_sum(&p->sites[i]);
        merge_shares(p);
        return map;
}
