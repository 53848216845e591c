/* SPDX-License-Identifier: MIT */
#include "profile/replay.h"

#include <stdlib.h>
#include <string.h>

#include "base/find.h"
#include "base/heap.h"

#define FIRST_SLOTS 4096u

/* What mmap gave and nobody unmapped: sorted, not overlapping. */
struct replay_range {
        uint64_t start, end;
};

struct ranges {
        struct replay_range *range;
        uint32_t count, room;
};

/* By thread: a realloc or an unmapping that may still fail. */
struct replay_pending {
        struct replay_block taken; /* used: there is one */
        struct ranges unmapped;
};

struct replay {
        struct replay_totals totals;
        struct replay_block *slots; /* open addressing by address, at most half full */
        uint64_t slot_count, used;
        struct ranges mapped;
        struct replay_site *sites, nowhere;
        uint32_t site_count;
        struct replay_pending *pending;
        uint32_t pending_count;
};

struct replay *replay_new(void)
{
        struct replay *r = heap_zero(1, sizeof *r);

        r->slot_count = FIRST_SLOTS;
        r->slots = heap_zero(r->slot_count, sizeof *r->slots);
        return r;
}

void replay_free(struct replay *r)
{
        if (!r)
                return;
        for (uint32_t i = 0; i < r->pending_count; i++)
                free(r->pending[i].unmapped.range);
        free(r->pending);
        free(r->mapped.range);
        free(r->sites);
        free(r->slots);
        free(r);
}

const struct replay_totals *replay_totals(const struct replay *r)
{
        return &r->totals;
}

struct replay_site replay_site(const struct replay *r, uint32_t site)
{
        return site < r->site_count ? r->sites[site] : (struct replay_site){ 0 };
}

const struct replay_block *replay_blocks(const struct replay *r, uint64_t *count)
{
        *count = r->slot_count;
        return r->slots;
}

/* Ids are those of the profile or, in a file left behind, of the ledger: below LEDGER_SITES_MAX. */
static struct replay_site *site_of(struct replay *r, uint32_t site)
{
        if (site >= LEDGER_SITES_MAX)
                return &r->nowhere;
        if (site >= r->site_count) {
                uint32_t count = r->site_count ? r->site_count : 1024;

                while (count <= site)
                        count *= 2;
                r->sites = heap_grow(r->sites, count, sizeof *r->sites);
                memset(r->sites + r->site_count, 0, (count - r->site_count) * sizeof *r->sites);
                r->site_count = count;
        }
        return &r->sites[site];
}

static struct replay_pending *pending_of(struct replay *r, uint16_t thread)
{
        if (thread >= r->pending_count) {
                r->pending = heap_grow(r->pending, thread + 1u, sizeof *r->pending);
                memset(r->pending + r->pending_count, 0, (thread + 1u - r->pending_count) * sizeof *r->pending);
                r->pending_count = thread + 1u;
        }
        return &r->pending[thread];
}

const struct replay_block *replay_taken(const struct replay *r, uint16_t thread)
{
        return thread < r->pending_count && r->pending[thread].taken.used ? &r->pending[thread].taken : NULL;
}

/* ---- live blocks ---- */

static bool is_pool(uint32_t kind)
{
        return kind == LEDGER_KIND_POOL;
}

/* A pool's block may begin where the block around it begins. */
static uint64_t home_of(const struct replay *r, uint64_t address, uint32_t kind)
{
        uint64_t h = (address + is_pool(kind)) * 0x9e3779b97f4a7c15ull;

        return (h ^ h >> 32) & (r->slot_count - 1);
}

static struct replay_block *slot_of(const struct replay *r, uint64_t address, uint32_t kind)
{
        uint64_t at = home_of(r, address, kind);

        while (r->slots[at].used && (r->slots[at].address != address || is_pool(r->slots[at].kind) != is_pool(kind)))
                at = (at + 1) & (r->slot_count - 1);
        return &r->slots[at];
}

const struct replay_block *replay_find(const struct replay *r, uint64_t address, uint32_t kind)
{
        const struct replay_block *b = slot_of(r, address, kind);

        return b->used ? b : NULL;
}

static void grow(struct replay *r)
{
        struct replay_block *old = r->slots;
        uint64_t count = r->slot_count;

        r->slot_count *= 2;
        r->slots = heap_zero(r->slot_count, sizeof *r->slots);
        for (uint64_t i = 0; i < count; i++)
                if (old[i].used)
                        *slot_of(r, old[i].address, old[i].kind) = old[i];
        free(old);
}

static void remove_slot(struct replay *r, struct replay_block *slot)
{
        uint64_t mask = r->slot_count - 1, gap = (uint64_t)(slot - r->slots);

        for (uint64_t next = (gap + 1) & mask; r->slots[next].used; next = (next + 1) & mask) {
                uint64_t home = home_of(r, r->slots[next].address, r->slots[next].kind);

                if (((next - home) & mask) < ((next - gap) & mask))
                        continue;
                r->slots[gap] = r->slots[next];
                gap = next;
        }
        r->slots[gap].used = false;
        r->used--;
}

static void put_block(struct replay *r, const struct replay_block *b)
{
        struct replay_block *slot;

        if (2 * (r->used + 1) > r->slot_count)
                grow(r);
        slot = slot_of(r, b->address, b->kind);
        r->used += !slot->used;
        *slot = *b;
        r->totals.live_blocks++;
        r->totals.live_bytes += b->size;
}

/* As events_peak.h does it: after each event that may have added something. */
static void compare_peak(struct replay_totals *t, const struct ledger_event *e)
{
        if ((int64_t)(t->live_bytes - t->peak_bytes) <= 0)
                return;
        t->peak_bytes = t->live_bytes;
        t->peak_blocks = t->live_blocks;
        t->peak_ms = e->ms;
}

static void allocate(struct replay *r, const struct ledger_event *e)
{
        struct replay_block b = { e->address, e->size, r->totals.events, e->site, e->ms, e->thread, e->kind, true };
        struct replay_site *s = site_of(r, e->site);
        struct replay_totals *t = &r->totals;

        if (e->type == LEDGER_EVENT_MOVE)
                pending_of(r, e->thread)->taken.used = false;
        put_block(r, &b);
        s->allocs++;
        s->alloc_bytes += e->size;
        t->allocations++;
        t->bytes_allocated += e->size;
        compare_peak(t, e);
}

static void release(struct replay *r, const struct ledger_event *e)
{
        struct replay_block *slot = slot_of(r, e->address, e->kind);
        struct replay_pending *p = pending_of(r, e->thread);

        p->taken.used = false;
        if (!slot->used) {
                r->totals.strangers++;
                return;
        }
        if (e->type == LEDGER_EVENT_TAKE)
                p->taken = *slot;
        site_of(r, slot->site)->frees++;
        r->totals.frees++;
        r->totals.live_blocks--;
        r->totals.live_bytes -= slot->size;
        remove_slot(r, slot);
}

static void put_back(struct replay *r, const struct ledger_event *e)
{
        struct replay_pending *p = pending_of(r, e->thread);

        if (!p->taken.used)
                return;
        put_block(r, &p->taken);
        site_of(r, p->taken.site)->frees--;
        r->totals.frees--;
        p->taken.used = false;
        compare_peak(&r->totals, e);
}

/* ---- mappings ---- */

/* The first range that ends behind START. */
static uint32_t ranges_find(const struct ranges *s, uint64_t start)
{
        return (uint32_t)FIND_FIRST(s->count, i, s->range[i].end <= start);
}

static void ranges_insert(struct ranges *s, uint32_t at, struct replay_range one)
{
        if (s->count == s->room) {
                s->room = s->room ? 2 * s->room : 16;
                s->range = heap_grow(s->range, s->room, sizeof *s->range);
        }
        memmove(s->range + at + 1, s->range + at, (s->count - at) * sizeof *s->range);
        s->range[at] = one;
        s->count++;
}

/* Take [START, END) out of the mapped ranges; the pieces that were there go to KEEP, if any. */
static void unmap(struct replay *r, uint64_t start, uint64_t end, struct ranges *keep)
{
        struct ranges *m = &r->mapped;
        uint32_t at = ranges_find(m, start);

        while (start < end && at < m->count && m->range[at].start < end) {
                struct replay_range old = m->range[at];
                struct replay_range gone = { old.start > start ? old.start : start, old.end < end ? old.end : end };

                memmove(m->range + at, m->range + at + 1, (m->count - at - 1) * sizeof *m->range);
                m->count--;
                if (old.end > gone.end)
                        ranges_insert(m, at, (struct replay_range){ gone.end, old.end });
                if (old.start < gone.start)
                        ranges_insert(m, at++, (struct replay_range){ old.start, gone.start });
                if (keep)
                        ranges_insert(keep, keep->count, gone);
                r->totals.mmap_live_bytes -= gone.end - gone.start;
        }
}

static void map(struct replay *r, uint64_t start, uint64_t end)
{
        unmap(r, start, end, NULL);
        if (start < end)
                ranges_insert(&r->mapped, ranges_find(&r->mapped, start), (struct replay_range){ start, end });
        r->totals.mmap_live_bytes += start < end ? end - start : 0;
}

static void count_map(struct replay *r, const struct ledger_event *e)
{
        struct replay_site *s = site_of(r, e->site);

        map(r, e->address, e->address + e->size);
        s->allocs++;
        s->alloc_bytes += e->size;
        r->totals.mmap_calls++;
        r->totals.mmap_bytes += e->size;
}

static void count_unmap(struct replay *r, const struct ledger_event *e)
{
        struct ranges *keep = &pending_of(r, e->thread)->unmapped;

        keep->count = 0;
        unmap(r, e->address, e->address + e->size, keep);
}

static void unmap_failed(struct replay *r, const struct ledger_event *e)
{
        struct ranges *keep = &pending_of(r, e->thread)->unmapped;

        for (uint32_t i = 0; i < keep->count; i++)
                map(r, keep->range[i].start, keep->range[i].end);
        keep->count = 0;
}

/* ---- events ---- */

static void count_bad_free(struct replay_totals *t, uint32_t error)
{
        t->double_frees += error == LEDGER_ERROR_DOUBLE_FREE;
        t->mismatched += error == LEDGER_ERROR_MISMATCHED;
        t->unknown_frees += error == LEDGER_ERROR_UNKNOWN_FREE;
}

void replay_event(struct replay *r, const struct ledger_event *e)
{
        r->totals.events++;
        switch (e->type) {
        case LEDGER_EVENT_ALLOC:
        case LEDGER_EVENT_MOVE:
                allocate(r, e);
                break;
        case LEDGER_EVENT_FREE:
        case LEDGER_EVENT_TAKE:
                release(r, e);
                break;
        case LEDGER_EVENT_PUT_BACK:
                put_back(r, e);
                break;
        case LEDGER_EVENT_CARVE: /* counted as blocks of the pool now, or as the arena's own again */
                r->totals.live_bytes -= e->size;
                compare_peak(&r->totals, e);
                break;
        case LEDGER_EVENT_MAP:
                count_map(r, e);
                break;
        case LEDGER_EVENT_UNMAP:
                count_unmap(r, e);
                break;
        case LEDGER_EVENT_UNMAP_FAILED:
                unmap_failed(r, e);
                break;
        case LEDGER_EVENT_BAD_FREE:
                count_bad_free(&r->totals, e->kind);
                break;
        }
}
