/* SPDX-License-Identifier: MIT */
/*
 * slices_store.c -- the history of a run moved into a profile: sites of the ledger become those of
 * the profile.
 */
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/order.h"
#include "collect/slices.h"

struct store {
        struct profile *p;
        struct profile_change *raw;   /* by site of the ledger, as of the slice being stored */
        struct profile_change *site;  /* by site of the profile */
        uint32_t *touched;            /* sites of the profile, in this slice */
        uint32_t *touched_in;         /* slice number + 1 by site of the profile */
        uint32_t touched_count, room;
};

static void store_change(struct store *st, uint32_t site, const struct profile_change *c,
                         uint32_t slice)
{
        struct profile_change *raw = &st->raw[c->site], *to = &st->site[site];

        to->allocs += c->allocs - raw->allocs;
        to->alloc_bytes += c->alloc_bytes - raw->alloc_bytes;
        to->live_blocks += c->live_blocks - raw->live_blocks;
        to->live_bytes += c->live_bytes - raw->live_bytes;
        *raw = *c;
        if (st->touched_in[site] == slice + 1)
                return;
        st->touched_in[site] = slice + 1;
        st->touched[st->touched_count++] = site;
}

static void store_touched(struct store *st, struct profile_slice *to)
{
        struct profile *p = st->p;

        qsort(st->touched, st->touched_count, sizeof *st->touched, order_u32);
        to->change_first = p->change_count;
        to->change_count = st->touched_count;
        if (p->change_count + st->touched_count > st->room) {
                st->room = 2 * (p->change_count + st->touched_count);
                p->changes = heap_grow(p->changes, st->room, sizeof *p->changes);
        }
        for (uint32_t i = 0; i < st->touched_count; i++) {
                struct profile_change *c = &p->changes[p->change_count++];

                *c = st->site[st->touched[i]];
                c->site = st->touched[i];
        }
        st->touched_count = 0;
}

/* Whether no two sites became one and their order is kept. */
static bool is_renumbering(const uint32_t *site_map, uint32_t site_count)
{
        uint32_t most = 0;

        for (uint32_t i = 0; i < site_count; i++) {
                if (site_map[i] && site_map[i] <= most)
                        return false;
                most = site_map[i] ? site_map[i] : most;
        }
        return true;
}

/* In place: there are never more of them than before. */
static void renumber(struct slices *s, const uint32_t *site_map, uint32_t site_count,
                     struct profile *p)
{
        uint32_t kept = 0;

        for (uint32_t i = 0; i < s->slice_count; i++) {
                const struct profile_change *from = &s->change[s->slice[i].change_first];
                uint32_t first = kept;

                for (uint32_t k = 0; k < s->slice[i].change_count; k++) {
                        uint32_t site = from[k].site < site_count ? site_map[from[k].site] : 0;

                        if (!site || site >= p->site_count)
                                continue;
                        if (&s->change[kept] != &from[k] || from[k].site != site) {
                                /* else: do not touch a page for nothing. */
                                s->change[kept] = from[k];
                                s->change[kept].site = site;
                        }
                        kept++;
                }
                s->slice[i].change_first = first;
                s->slice[i].change_count = kept - first;
        }
        p->change_count = kept;
        p->changes = s->change;
        s->change = NULL;
}

static void merge(const struct slices *s, const uint32_t *site_map, uint32_t site_count,
                  struct profile *p)
{
        struct store st = { .p = p };

        st.raw = heap_zero(s->sites ? s->sites->count : 0, sizeof *st.raw);
        st.site = heap_zero(p->site_count, sizeof *st.site);
        st.touched = heap_zero(p->site_count, sizeof *st.touched);
        st.touched_in = heap_zero(p->site_count, sizeof *st.touched_in);
        for (uint32_t i = 0; i < s->slice_count; i++) {
                struct profile_slice *from = &s->slice[i];

                for (uint32_t k = 0; k < from->change_count; k++) {
                        const struct profile_change *c = &s->change[from->change_first + k];
                        uint32_t site = c->site < site_count ? site_map[c->site] : 0;

                        if (site && site < p->site_count)
                                store_change(&st, site, c, i);
                }
                store_touched(&st, from);
        }
        free(st.raw);
        free(st.site);
        free(st.touched);
        free(st.touched_in);
}

void slices_store(struct slices *s, const uint32_t *site_map, uint32_t site_count,
                  struct profile *p)
{
        if (is_renumbering(site_map, site_count))
                renumber(s, site_map, site_count, p);
        else
                merge(s, site_map, site_count, p);
        p->slices = s->slice;
        p->slice_count = s->slice_count;
        p->marks = s->mark;
        p->mark_count = s->mark_count;
        for (uint32_t i = 0; i < p->mark_count; i++)
                p->marks[i].thread = p->marks[i].thread < p->thread_count ? p->marks[i].thread : 0;
        s->slice = NULL;
        s->mark = NULL;
        s->mark_count = 0;
        slices_free(s);
}
