/* SPDX-License-Identifier: MIT */
#include "profile/replay.h"

#include <stdlib.h>
#include <string.h>

#include "base/find.h"
#include "base/heap.h"
#include "profile/feed.h"

#define FIRST_SLOTS 4096u

/* What mmap gave and nobody unmapped: sorted, not overlapping. */
struct replay_range {
        uint64_t start, end;
};

struct ranges {
        struct replay_range *range;
        uint32_t count;
};

/* By thread: a realloc or an unmapping that may still fail. */
struct replay_pending {
        struct replay_block taken; /* used: there is one */
        uint32_t taken_ms;
        struct ranges unmapped;
};

struct replay {
        struct feed *sums;
        uint64_t gone; /* events before the first */
        uint64_t events, strangers, mmap_calls, mmap_bytes, mmap_live_bytes,
                errors[LEDGER_ERROR_UNKNOWN_FREE + 1];
        struct replay_block *slots; /* open addressing by address, at most half full */
        uint64_t slot_count, used;
        struct ranges mapped;
        struct replay_pending *pending;
        uint32_t pending_count;
};

struct replay *replay_new(void)
{
        struct replay *r = heap_zero(1, sizeof *r);

        r->sums = feed_new();
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
        feed_free(r->sums);
        free(r->slots);
        free(r);
}

void replay_begin_after(struct replay *r, uint64_t count)
{
        r->gone = count;
}

uint64_t replay_events(const struct replay *r)
{
        return r->events;
}

struct replay_totals replay_totals(const struct replay *r)
{
        const struct ledger_head *head = r->sums->book.head;
        const struct ledger_slot *all = r->sums->writer.slot;

        return (struct replay_totals){
                .events = r->events,
                .allocations = all->allocs,
                .frees = all->frees,
                .bytes_allocated = all->alloc_bytes,
                .live_blocks = feed_live_blocks(r->sums),
                .live_bytes = feed_live_bytes(r->sums),
                .peak_bytes = head->peak_bytes,
                .peak_ms = head->peak_tick_ms,
                .unknown_frees = r->errors[LEDGER_ERROR_UNKNOWN_FREE],
                .double_frees = r->errors[LEDGER_ERROR_DOUBLE_FREE],
                .mismatched = r->errors[LEDGER_ERROR_MISMATCHED],
                .mmap_calls = r->mmap_calls,
                .mmap_bytes = r->mmap_bytes,
                .mmap_live_bytes = r->mmap_live_bytes,
                .strangers = r->strangers,
        };
}

const struct ledger_counter *replay_site(const struct replay *r, uint32_t site)
{
        return feed_site(r->sums, site);
}

const struct replay_block *replay_blocks(const struct replay *r, uint64_t *count)
{
        *count = r->slot_count;
        return r->slots;
}

static struct replay_pending *pending_of(struct replay *r, uint16_t thread)
{
        if (thread >= r->pending_count) {
                r->pending = heap_grow(r->pending, thread + 1u, sizeof *r->pending);
                memset(r->pending + r->pending_count, 0,
                       (thread + 1u - r->pending_count) * sizeof *r->pending);
                r->pending_count = thread + 1u;
        }
        return &r->pending[thread];
}

const struct replay_block *replay_taken(const struct replay *r, uint16_t thread)
{
        return thread < r->pending_count && r->pending[thread].taken.used
                       ? &r->pending[thread].taken
                       : NULL;
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

        while (r->slots[at].used &&
               (r->slots[at].address != address || is_pool(r->slots[at].kind) != is_pool(kind)))
                at = (at + 1) & (r->slot_count - 1);
        return &r->slots[at];
}

const struct replay_block *replay_find(const struct replay *r, uint64_t address, uint32_t kind)
{
        const struct replay_block *b = slot_of(r, address, kind);

        return b->used ? b : NULL;
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

        if (2 * (r->used + 1) > r->slot_count) {
                struct replay_block *old = r->slots;
                uint64_t count = r->slot_count;

                r->slot_count *= 2;
                r->slots = heap_zero(r->slot_count, sizeof *r->slots);
                for (uint64_t i = 0; i < count; i++)
                        if (old[i].used)
                                *slot_of(r, old[i].address, old[i].kind) = old[i];
                free(old);
        }
        slot = slot_of(r, b->address, b->kind);
        r->used += !slot->used;
        *slot = *b;
}

static void allocate(struct replay *r, const struct ledger_event *e)
{
        struct replay_block b = { e->address, e->size, r->gone + r->events, e->site, e->ms,
                                  e->thread,  e->kind, true };

        if (e->type == LEDGER_EVENT_MOVE)
                pending_of(r, e->thread)->taken.used = false;
        put_block(r, &b);
        feed_add(r->sums, e->site,
                 (struct count_blocks){ .address = e->address, .size = e->size, .times = 1 },
                 e->ms);
}

static struct count_blocks one(const struct replay_block *b, uint32_t ms)
{
        return (struct count_blocks){ b->address, b->size, 1, ms > b->ms ? ms - b->ms : 0 };
}

static void release(struct replay *r, const struct ledger_event *e)
{
        struct replay_block *slot = slot_of(r, e->address, e->kind);
        struct replay_pending *p = pending_of(r, e->thread);

        p->taken.used = false;
        if (!slot->used) {
                r->strangers++;
                return;
        }
        if (e->type == LEDGER_EVENT_TAKE) {
                p->taken = *slot;
                p->taken_ms = e->ms;
        }
        feed_remove(r->sums, slot->site, one(slot, e->ms), e->ms);
        remove_slot(r, slot);
}

static void put_back(struct replay *r, const struct ledger_event *e)
{
        struct replay_pending *p = pending_of(r, e->thread);

        if (!p->taken.used)
                return;
        put_block(r, &p->taken);
        feed_undo(r->sums, p->taken.site, one(&p->taken, p->taken_ms), e->ms);
        p->taken.used = false;
}

/* ---- mappings ---- */

/* The first range that ends behind START. */
static uint32_t ranges_find(const struct ranges *s, uint64_t start)
{
        return (uint32_t)FIND_FIRST(s->count, i, s->range[i].end <= start);
}

static void ranges_insert(struct ranges *s, uint32_t at, struct replay_range one)
{
        s->range = heap_next(s->range, s->count, sizeof *s->range);
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
                struct replay_range gone = { old.start > start ? old.start : start,
                                             old.end < end ? old.end : end };

                memmove(m->range + at, m->range + at + 1, (m->count - at - 1) * sizeof *m->range);
                m->count--;
                if (old.end > gone.end)
                        ranges_insert(m, at, (struct replay_range){ gone.end, old.end });
                if (old.start < gone.start)
                        ranges_insert(m, at++, (struct replay_range){ old.start, gone.start });
                if (keep)
                        ranges_insert(keep, keep->count, gone);
                r->mmap_live_bytes -= gone.end - gone.start;
        }
}

static void map(struct replay *r, uint64_t start, uint64_t end)
{
        unmap(r, start, end, NULL);
        if (start < end)
                ranges_insert(&r->mapped, ranges_find(&r->mapped, start),
                              (struct replay_range){ start, end });
        r->mmap_live_bytes += start < end ? end - start : 0;
}

static void remove_mapping(struct replay *r, const struct ledger_event *e)
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

void replay_event(struct replay *r, const struct ledger_event *e)
{
        r->events++;
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
        case LEDGER_EVENT_CARVE: /* counted as the pool's blocks now, or as the arena's own again */
                feed_carve(r->sums, e->site, (int64_t)e->size, e->ms);
                break;
        case LEDGER_EVENT_MAP:
                map(r, e->address, e->address + e->size);
                feed_map(r->sums, e->site, e->size, e->ms);
                r->mmap_calls++;
                r->mmap_bytes += e->size;
                break;
        case LEDGER_EVENT_UNMAP:
                remove_mapping(r, e);
                break;
        case LEDGER_EVENT_UNMAP_FAILED:
                unmap_failed(r, e);
                break;
        case LEDGER_EVENT_BAD_FREE:
                if (e->kind <= LEDGER_ERROR_UNKNOWN_FREE)
                        r->errors[e->kind]++;
                break;
        }
}
