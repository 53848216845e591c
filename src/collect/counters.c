/* SPDX-License-Identifier: MIT */
#include "collect/counters.h"

#include <stdlib.h>

#include "base/heap.h"

/* A slot is mostly a table of chunks that is never touched: only its first page is sure to have
 * memory. */
#define COUNTERS_SLOT_PRESENT 4096u

uint32_t counters_slots(const struct view *v)
{
        uint32_t most = view_count(v, LEDGER_SLOTS, v->head.slot_count, COUNTERS_SLOT_PRESENT);
        uint64_t fit = v->head.part[LEDGER_SLOTS].committed / sizeof(struct ledger_slot);

        return most < fit ? most : (uint32_t)fit;
}

void counters_slot(const struct view *v, uint32_t slot, struct counters_slot *out)
{
        uint64_t at = slot * (uint64_t)sizeof(struct ledger_slot), base[2] = { 0, 0 };

        view_read(v, LEDGER_SLOTS, at, out, offsetof(struct counters_slot, base_allocs));
        view_read(v, LEDGER_SLOTS, at + offsetof(struct ledger_slot, base_allocs), base,
                  sizeof base);
        out->base_allocs = base[0];
        out->base_alloc_bytes = base[1];
}

static void counters_add(const struct view *v, uint64_t at, uint64_t *to, uint32_t count)
{
        uint64_t one[LEDGER_SIZE_CLASSES];

        view_read(v, LEDGER_SLOTS, at, one, count * sizeof *one);
        for (uint32_t i = 0; i < count; i++)
                to[i] += one[i];
}

void counters_histograms(const struct view *v, struct profile_totals *to)
{
        uint32_t slots = counters_slots(v);
        uint64_t omitted[4] = { 0 };

        _Static_assert(LEDGER_LIFETIME_CLASSES <= LEDGER_SIZE_CLASSES, "one buffer for both");
        for (uint32_t i = 0; i < slots; i++) {
                uint64_t at = i * (uint64_t)sizeof(struct ledger_slot);

                counters_add(v, at + offsetof(struct ledger_slot, sizes), to->sizes,
                             LEDGER_SIZE_CLASSES);
                counters_add(v, at + offsetof(struct ledger_slot, omitted), omitted, 4);
                counters_add(v, at + offsetof(struct ledger_slot, lifetimes), to->lifetimes,
                             LEDGER_LIFETIME_CLASSES);
        }
        to->omitted = omitted[0];
        to->omitted_bytes = omitted[1];
        to->omitted_maps = omitted[2];
        to->omitted_map_bytes = omitted[3];
}

uint32_t counters_sites(const struct view *v)
{
        uint32_t count = view_count(v, LEDGER_SITES, v->head.site_count,
                                    sizeof(struct ledger_site));
        uint32_t most = LEDGER_CHUNKS_PER_SLOT * LEDGER_COUNTERS_PER_CHUNK;

        return count < most ? count : most;
}

void counters_of_slot(const struct view *v, uint32_t slot, counters_visit *visit, void *context)
{
        uint32_t sites = counters_sites(v);
        uint32_t chunks = (sites + LEDGER_COUNTERS_PER_CHUNK - 1) / LEDGER_COUNTERS_PER_CHUNK;
        uint32_t *chunk = heap_zero(chunks, sizeof *chunk);
        struct ledger_counter *c = heap_grow(NULL, LEDGER_COUNTERS_PER_CHUNK, sizeof *c);
        uint64_t at = slot * (uint64_t)sizeof(struct ledger_slot) +
                      offsetof(struct ledger_slot, chunk);

        view_read(v, LEDGER_SLOTS, at, chunk, chunks * sizeof *chunk);
        for (uint32_t i = 0; i < chunks; i++) {
                uint32_t first = i * LEDGER_COUNTERS_PER_CHUNK;
                uint32_t count = sites - first < LEDGER_COUNTERS_PER_CHUNK
                                         ? sites - first
                                         : LEDGER_COUNTERS_PER_CHUNK;

                if (chunk[i] == 0)
                        continue;
                if (view_read(v, LEDGER_COUNTERS,
                              (chunk[i] - 1) * (uint64_t)LEDGER_COUNTER_CHUNK_BYTES, c,
                              count * sizeof *c))
                        visit(context, slot, first, c, count);
        }
        free(c);
        free(chunk);
}

void counters_each(const struct view *v, counters_visit *visit, void *context)
{
        uint32_t slots = counters_slots(v);

        for (uint32_t i = 0; i < slots; i++)
                counters_of_slot(v, i, visit, context);
}
