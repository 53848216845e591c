/* SPDX-License-Identifier: MIT */
/*
 * region.c -- what mmap gave: a sorted list of address ranges.
 *
 * Room:   inside; any context.
 * Keeps:  the list is changed by the holder of the queue's lock only (queue.h).
 * Cost:   a binary search and moving the entries behind; always beside a system call.
 */
#include "agent/region.h"

#include "agent/arena.h"
#include "agent/bytes.h"
#include "agent/journal.h"
#include "agent/omit.h"
#include "agent/peak.h"
#include "agent/queue.h"
#include "agent/sys.h"

#include "agent/guest.h"

static struct ledger_region *regions(void)
{
        return arena_at(LEDGER_REGIONS);
}

/* Index of the first region that ends behind ADDRESS. */
static uint32_t region_at(uint64_t address)
{
        uint32_t low = 0, high = agent.head->region_count;

        while (low < high) {
                uint32_t middle = (low + high) / 2;

                if (regions()[middle].end <= address)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

static bool region_insert(uint32_t at, const struct ledger_region *r)
{
        uint32_t count = agent.head->region_count;

        if (!arena_commit(LEDGER_REGIONS, (count + 1ull) * sizeof *r)) {
                __atomic_add_fetch(&agent.head->lost_events, 1, __ATOMIC_RELAXED);
                return false;
        }
        memmove(&regions()[at + 1], &regions()[at], (count - at) * sizeof *r);
        regions()[at] = *r;
        agent.head->region_count = count + 1;
        return true;
}

static void region_delete(uint32_t at)
{
        uint32_t count = --agent.head->region_count;

        memmove(&regions()[at], &regions()[at + 1], (count - at) * sizeof(struct ledger_region));
}

static void count_removed(struct thread *t, uint32_t site, uint64_t bytes, bool whole)
{
        struct ledger_counter *c = thread_counter(t, site);

        if (!c)
                return;
        peak_before_free(c);
        c->free_bytes += bytes;
        c->frees += whole;
}

/* Cut [O->first, O->second) out of region AT.  Returns the index to go on with. */
static uint32_t cut_region(struct thread *t, uint32_t at, const struct operation *o)
{
        struct ledger_region *r = &regions()[at], tail = *r;
        uint64_t start = o->first > r->start ? o->first : r->start, end = o->second < r->end ? o->second : r->end;
        bool head_left = start > r->start, tail_left = end < r->end;

        count_removed(t, r->site, end - start, !head_left && !tail_left);
        if (!head_left && !tail_left) {
                region_delete(at);
                return at;
        }
        if (head_left)
                r->end = start;
        else
                r->start = end;
        if (head_left && tail_left) {
                tail.start = end;
                region_insert(at + 1, &tail);
        }
        return at + 1;
}

static void apply_remove(struct thread *t, const struct operation *o)
{
        uint32_t at = region_at(o->first);

        while (at < agent.head->region_count && regions()[at].start < o->second)
                at = regions()[at].ticket < o->ticket ? cut_region(t, at, o) : at + 1;
}

static void apply_add(struct thread *t, const struct operation *o)
{
        struct ledger_region r = { o->first, o->second, o->ticket, o->site, o->birth_ms, o->thread, 0 };
        struct ledger_counter *c = thread_counter(t, o->site);

        if (!c || !region_insert(region_at(o->first), &r))
                return;
        peak_before_free(c);
        c->allocs++;
        c->alloc_bytes += o->second - o->first;
}

static uint64_t page_up(uint64_t size)
{
        return (size + SYS_PAGE - 1) & ~(SYS_PAGE - 1);
}

bool region_add(struct thread *t, uint64_t start, uint64_t size, uint32_t kind, struct arch_state caller)
{
        bool off = agent.special & SPECIAL_OFF, omitted = !off && omit_caller(caller.pc);
        struct operation *o = off || omitted ? NULL : queue_new_at(t, kind, caller);

        if (omitted) {
                t->slot->omitted_maps++;
                t->slot->omitted_map_bytes += page_up(size);
                return false;
        }
        t->last = 0;
        if (!o)
                return false;
        o->apply = apply_add;
        o->first = start;
        o->second = start + page_up(size);
        journal_put(t, LEDGER_EVENT_MAP, kind, o->site, start, page_up(size));
        queue_submit(t, o);
        return true;
}

void region_remove(struct thread *t, uint64_t start, uint64_t size, uint64_t ticket)
{
        struct operation *o = queue_new();

        t->last = 0;
        if (!o)
                return;
        o->apply = apply_remove;
        o->first = start;
        o->second = start + page_up(size);
        o->ticket = ticket;
        queue_submit(t, o);
}

uint64_t region_leaves(struct thread *t, uint64_t start, uint64_t size)
{
        journal_put(t, LEDGER_EVENT_UNMAP, 0, 0, start, page_up(size));
        return queue_ticket();
}

void region_stays(struct thread *t)
{
        journal_put(t, LEDGER_EVENT_UNMAP_FAILED, 0, 0, 0, 0);
}
