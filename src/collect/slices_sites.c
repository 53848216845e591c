/* SPDX-License-Identifier: MIT */
/*
 * slices_sites.c -- the call stacks that were active since the last slice.
 *
 * Keeps:  a copy of the counters of each slot, half as large as those in the ledger.
 * Cost:   one pass over the counters of the threads that had events, and one record for each
 *         call stack that changed.
 */
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "collect/counters.h"
#include "collect/slices.h"

#define SLICES_ALL_EVERY 50u /* reads until slots without events are read too */

/* The front of a struct ledger_counter. */
struct slices_counts {
        uint64_t allocs, alloc_bytes, frees, free_bytes;
};

_Static_assert(offsetof(struct ledger_counter, alloc_bytes) ==
                               offsetof(struct slices_counts, alloc_bytes) &&
                       offsetof(struct ledger_counter, frees) ==
                               offsetof(struct slices_counts, frees) &&
                       offsetof(struct ledger_counter, free_bytes) ==
                               offsetof(struct slices_counts, free_bytes),
               "compared as bytes");

struct slices_slot {
        uint64_t allocs, frees;           /* now */
        uint64_t read_allocs, read_frees; /* when its counters were read */
        bool read;
        struct slices_counts **chunk; /* NULL: nothing counted there yet */
        uint32_t chunk_count;
};

void slices_sites_free(struct slices_sites *t)
{
        if (!t)
                return;
        for (uint32_t i = 0; i < t->slot_count; i++) {
                for (uint32_t k = 0; k < t->slot[i].chunk_count; k++)
                        free(t->slot[i].chunk[k]);
                free(t->slot[i].chunk);
        }
        free(t->slot);
        free(t->sum);
        free(t->changed);
        *t = (struct slices_sites){ 0 };
}

static uint64_t not_negative(uint64_t n)
{
        return (int64_t)n < 0 ? 0 : n;
}

void slices_read_totals(struct slices_sites *t, const struct view *v, struct profile_slice *out)
{
        uint32_t slots = counters_slots(v);
        uint64_t free_bytes = 0;

        if (slots > t->slot_count) {
                t->slot = heap_grow(t->slot, slots, sizeof *t->slot);
                memset(t->slot + t->slot_count, 0, (slots - t->slot_count) * sizeof *t->slot);
                t->slot_count = slots;
        }
        for (uint32_t i = 0; i < slots; i++) {
                struct counters_slot one;

                counters_slot(v, i, &one);
                t->slot[i].allocs = one.allocs;
                t->slot[i].frees = one.frees;
                out->allocs += one.allocs;
                out->alloc_bytes += one.alloc_bytes;
                out->frees += one.frees;
                free_bytes += one.free_bytes;
        }
        out->live_blocks = not_negative(out->allocs - out->frees);
        out->live_bytes = not_negative(out->alloc_bytes - free_bytes);
}

/* ---- sites ---- */

static struct slices_counts *chunk_of(struct slices_slot *slot, uint32_t number)
{
        if (number >= slot->chunk_count) {
                slot->chunk = heap_grow(slot->chunk, number + 1u, sizeof *slot->chunk);
                memset(slot->chunk + slot->chunk_count, 0,
                       (number + 1 - slot->chunk_count) * sizeof *slot->chunk);
                slot->chunk_count = number + 1;
        }
        if (!slot->chunk[number])
                slot->chunk[number] = heap_zero(LEDGER_COUNTERS_PER_CHUNK, sizeof **slot->chunk);
        return slot->chunk[number];
}

static void add_difference(struct slices_sites *t, uint32_t site, struct slices_counts *copy,
                           const struct ledger_counter *c)
{
        struct profile_change *sum = &t->sum[site];
        uint64_t allocs = c->allocs - copy->allocs, bytes = c->alloc_bytes - copy->alloc_bytes;

        sum->allocs += allocs;
        sum->alloc_bytes += bytes;
        sum->live_blocks += allocs - (c->frees - copy->frees);
        sum->live_bytes += bytes - (c->free_bytes - copy->free_bytes);
        t->changed[site / 64] |= 1ull << site % 64;
        memcpy(copy, c, sizeof *copy);
}

static void compare_chunk(void *context, uint32_t slot, uint32_t first,
                          const struct ledger_counter *c, uint32_t count)
{
        struct slices_sites *t = context;
        struct slices_counts *copy = chunk_of(&t->slot[slot], first / LEDGER_COUNTERS_PER_CHUNK);

        for (uint32_t i = 0; i < count && first + i < t->count; i++)
                if (memcmp(&copy[i], &c[i], sizeof copy[i]) != 0)
                        add_difference(t, first + i, &copy[i], &c[i]);
}

static void grow_sites(struct slices_sites *t, uint32_t count)
{
        uint32_t words = (count + 63) / 64, before = (t->count + 63) / 64;

        if (count <= t->count)
                return;
        t->sum = heap_grow(t->sum, count, sizeof *t->sum);
        memset(t->sum + t->count, 0, (count - t->count) * sizeof *t->sum);
        t->changed = heap_grow(t->changed, words, sizeof *t->changed);
        memset(t->changed + before, 0, (words - before) * sizeof *t->changed);
        t->count = count;
}

void slices_read_sites(struct slices_sites *t, const struct view *v, bool all)
{
        grow_sites(t, counters_sites(v));
        all |= ++t->partial >= SLICES_ALL_EVERY;
        if (all)
                t->partial = 0;
        for (uint32_t i = 0; i < t->slot_count; i++) {
                struct slices_slot *slot = &t->slot[i];

                if (!all && slot->read && slot->allocs == slot->read_allocs &&
                    slot->frees == slot->read_frees)
                        continue;
                slot->read = true;
                slot->read_allocs = slot->allocs;
                slot->read_frees = slot->frees;
                counters_of_slot(v, i, compare_chunk, t);
        }
}
