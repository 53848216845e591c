/* SPDX-License-Identifier: MIT */
/*
 * count.h -- counters when blocks come and go: sizes, ages and the maximum, in one step each.
 *
 * Room:   both sides; any context.  Inlined into the hooks: half of the cost of an event would be
 *         calls.
 */
#ifndef SEEP_BOOK_COUNT_H
#define SEEP_BOOK_COUNT_H

#include "book/peak.h"

/* TIMES blocks of SIZE bytes; with sampling one that was taken stands for several. */
struct count_blocks {
        uint64_t address; /* of the one that was seen */
        uint64_t size, times;
        uint32_t age_ms; /* of those that go */
};

/* N came at the site of C. */
BOOK_INLINE void count_add(struct book *k, struct book_writer *w, struct ledger_counter *c,
                           struct count_blocks n)
{
        struct ledger_slot *slot = w->slot;
        struct ledger_head *h = k->head;
        uint64_t all;

        peak_before_alloc(h, c);
        c->allocs += n.times;
        c->alloc_bytes += n.times * n.size;
        slot->allocs += n.times;
        all = slot->alloc_bytes += n.times * n.size;
        slot->sizes[book_class(n.size)] += n.times;
        w->last = n.address;
        peak_judge(k, w, h, all - slot->free_bytes);
}

/* N of the site of C are no more. */
BOOK_INLINE void count_remove(struct book *k, struct book_writer *w, struct ledger_counter *c,
                              struct count_blocks n)
{
        struct ledger_slot *slot = w->slot;
        struct ledger_head *h = k->head;

        peak_before_free(h, c);
        c->frees += n.times;
        c->free_bytes += n.times * n.size;
        c->lifetime_ms += n.times * n.age_ms;
        slot->lifetimes[book_class(n.age_ms)] += n.times;
        c->temporary += w->last == n.address ? n.times : 0;
        w->last = 0;
        slot->frees += n.times;
        slot->free_bytes += n.times * n.size;
        peak_after_free(k, w, h);
}

/* BYTES of the site of C are counted elsewhere from now on; negative: here again.  No block came or
 * went.  Whoever has done so with all that belongs together calls peak_after_alloc(). */
static inline void count_carve(struct book *k, struct book_writer *w, struct ledger_counter *c,
                               int64_t bytes)
{
        if (bytes > 0)
                peak_before_free(k->head, c);
        else
                peak_before_alloc(k->head, c);
        c->free_bytes += (uint64_t)bytes;
        w->slot->free_bytes += (uint64_t)bytes;
}

/* R into the free place TO, which is taken for readers when its end is there. */
static inline void count_region(struct ledger_region *to, const struct ledger_region *r)
{
        to->start = r->start;
        to->ticket = r->ticket;
        to->site = r->site;
        to->birth_ms = r->birth_ms;
        to->thread = r->thread;
        to->flags = r->flags;
        __atomic_store_n(&to->end, r->end, __ATOMIC_RELEASE);
}

/* BYTES were mapped at the site of C, or unmapped (WHOLE: to its end).  Mappings are no part of the
 * heap's maximum. */
static inline void count_map(struct book *k, struct ledger_counter *c, uint64_t bytes)
{
        peak_before_free(k->head, c);
        c->allocs++;
        c->alloc_bytes += bytes;
}

static inline void count_unmap(struct book *k, struct ledger_counter *c, uint64_t bytes, bool whole)
{
        peak_before_free(k->head, c);
        c->frees += whole;
        c->free_bytes += bytes;
}

/* A release that was counted did not happen after all. */
static inline void count_undo(struct book *k, struct book_writer *w, struct ledger_counter *c,
                              struct count_blocks n)
{
        struct ledger_slot *slot = w->slot;

        peak_before_alloc(k->head, c);
        c->frees -= n.times;
        c->free_bytes -= n.times * n.size;
        c->lifetime_ms -= n.times * n.age_ms;
        slot->lifetimes[book_class(n.age_ms)] -= n.times;
        slot->frees -= n.times;
        slot->free_bytes -= n.times * n.size;
        peak_after_alloc(k, w);
        w->last = 0;
}

#endif
