/* SPDX-License-Identifier: MIT */
#include "collect/reset.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/heap.h"
#include "book/peak.h"
#include "collect/counters.h"

#define AT_ONCE (LEDGER_SHADOW_CHUNK_BYTES / sizeof(struct ledger_block))

struct reset {
        const struct view *view;
        bool good;
};

/* BYTES at AT of PART, which must have room for them: what the ledger says of itself is not
 * believed. */
static void put(struct reset *r, enum ledger_part part, uint64_t at, const void *from, size_t bytes)
{
        const struct ledger_extent *x = &r->view->head.part[part];

        if (at > x->size || bytes > x->size - at)
                return;
        r->good = r->good && view_write(r->view, part, at, from, bytes);
}

bool reset_must_wait(const struct view *v)
{
        uint32_t slots = counters_slots(v);
        bool moving = false;

        for (uint32_t i = 0; i < slots && !moving; i++) {
                uint64_t address = 0;

                view_read(v, LEDGER_SLOTS,
                          i * sizeof(struct ledger_slot) + offsetof(struct ledger_slot, moving),
                          &address, sizeof address);
                moving = address != 0;
        }
        return moving;
}

/* ---- blocks ---- */

static bool forget_entries(struct ledger_block *entries, uint64_t count)
{
        bool changed = false;

        for (uint64_t i = 0; i < count; i++)
                if (LEDGER_BLOCK_LIVE(entries[i]) && LEDGER_BLOCK_SITE(entries[i])) {
                        entries[i].a &= ~(uint64_t)UINT32_MAX;
                        entries[i].b &= ~(0xfull << 48);
                        entries[i].b |= LEDGER_BLOCK_BIRTH_MS(entries[i]) == 0;
                        changed = true;
                }
        return changed;
}

/* Holes are pages that no block ever was in. */
static void forget_blocks(struct reset *r)
{
        uint64_t end = (uint64_t)r->view->head.shadow_chunk_count * LEDGER_SHADOW_CHUNK_BYTES,
                 at = 0;
        struct ledger_block *entries = heap_zero(AT_ONCE, sizeof *entries);
        uint64_t until;

        while (r->good && (until = view_data(r->view, LEDGER_SHADOW, &at, end)) != 0)
                for (; r->good && at < until;) {
                        uint64_t bytes = until - at < LEDGER_SHADOW_CHUNK_BYTES
                                                 ? until - at
                                                 : LEDGER_SHADOW_CHUNK_BYTES;

                        view_read(r->view, LEDGER_SHADOW, at, entries, bytes);
                        if (forget_entries(entries, bytes / sizeof *entries))
                                put(r, LEDGER_SHADOW, at, entries, bytes);
                        at += bytes;
                }
        free(entries);
}

/* ---- counters ---- */

struct chunk {
        struct reset *r;
        const struct ledger_site *sites;
        uint32_t site_count;
        const uint32_t *numbers; /* of the slot's chunks */
};

/* Mappings and resources are counted on. */
static void forget_chunk(void *context, uint32_t slot, uint32_t first,
                         const struct ledger_counter *c, uint32_t count)
{
        const struct chunk *k = context;
        struct ledger_counter *left = heap_zero(count, sizeof *left);
        uint32_t number = k->numbers[first / LEDGER_COUNTERS_PER_CHUNK];

        (void)slot;
        for (uint32_t i = 0; i < count; i++)
                if (first + i < k->site_count &&
                    !LEDGER_KIND_IS_HEAP(LEDGER_KIND_PLAIN(k->sites[first + i].kind)))
                        left[i] = c[i];
        if (number)
                put(k->r, LEDGER_COUNTERS, (uint64_t)(number - 1) * LEDGER_COUNTER_CHUNK_BYTES,
                    left, count * sizeof *left);
        free(left);
}

/* Its own totals, from allocs to lifetimes; not whose it is. */
static void forget_slot(struct reset *r, uint32_t slot)
{
        static const char nothing[offsetof(struct ledger_slot, fill)];
        size_t from = offsetof(struct ledger_slot, allocs);

        put(r, LEDGER_SLOTS, (uint64_t)slot * sizeof(struct ledger_slot) + from, nothing,
            sizeof nothing - from);
}

static void forget_counters(struct reset *r)
{
        const struct view *v = r->view;
        uint32_t site_count = counters_sites(v), slots = counters_slots(v);
        struct ledger_site *sites = view_table(v, LEDGER_SITES, &site_count, sizeof *sites);
        uint32_t *numbers = heap_zero(LEDGER_CHUNKS_PER_SLOT, sizeof *numbers);

        for (uint32_t i = 0; i < slots && r->good; i++) {
                view_read(v, LEDGER_SLOTS,
                          i * sizeof(struct ledger_slot) + offsetof(struct ledger_slot, chunk),
                          numbers, LEDGER_CHUNKS_PER_SLOT * sizeof *numbers);
                counters_of_slot(v, i, forget_chunk,
                                 &(struct chunk){ r, sites, site_count, numbers });
                forget_slot(r, i);
        }
        free(numbers);
        free(sites);
}

static void forget_threads(struct reset *r)
{
        static const char
                nothing[sizeof(struct ledger_thread) - offsetof(struct ledger_thread, base_allocs)];
        uint32_t count = view_count(r->view, LEDGER_THREADS, r->view->head.thread_count,
                                    sizeof(struct ledger_thread));

        for (uint32_t i = 0; i < count && r->good; i++)
                put(r, LEDGER_THREADS,
                    (uint64_t)i * sizeof(struct ledger_thread) +
                            offsetof(struct ledger_thread, base_allocs),
                    nothing, sizeof nothing);
}

static void forget_deaths(struct reset *r)
{
        const struct ledger_extent *part = &r->view->head.part[LEDGER_DEATHS];

        if (part->committed)
                r->good = r->good &&
                          fallocate(r->view->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                    (off_t)part->offset, (off_t)part->size) == 0;
}

/* ---- the head ---- */

#define PUT(field, value)   \
        (h.field = (value), \
         put(r, LEDGER_HEAD, offsetof(struct ledger_head, field), &h.field, sizeof h.field))

/* An empty heap is at its maximum; as little may be held back as at the start (book/peak.c). */
static void forget_totals(struct reset *r)
{
        struct ledger_head h = r->view->head;
        uint64_t slots = h.slot_count ? h.slot_count : 1;
        uint64_t unseen = slots * PEAK_TINY_BATCH < PEAK_TINY_LEAST ? slots * PEAK_TINY_BATCH
                                                                    : PEAK_TINY_LEAST;

        PUT(live_bytes, 0);
        PUT(peak_bytes, 0);
        PUT(peak_error_bytes, 0);
        PUT(peak_tick_ms, h.tick_ms);
        PUT(epoch, h.epoch + 1);
        PUT(at_peak, !h.several);
        PUT(unseen, h.several ? unseen : 0);
        PUT(batch, h.several ? (int64_t)(unseen / slots) : 0);
        PUT(older, 0);
        PUT(unrecorded, 1);
}

bool reset_ledger(const struct view *v, struct err *e)
{
        struct reset r = { v, true };

        forget_blocks(&r);
        forget_counters(&r);
        forget_threads(&r);
        forget_deaths(&r);
        forget_totals(&r);
        return r.good || err_sys(e, ERR_EXIT_CANNOT_TRACE, "its ledger cannot be written");
}
