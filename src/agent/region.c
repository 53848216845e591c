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
#include "agent/hook.h"
#include "agent/journal.h"
#include "agent/omit.h"
#include "agent/peak.h"
#include "agent/queue.h"
#include "agent/sys.h"

#include "agent/guest.h"

#define REGION_STEPS 64u /* regions passed over per stack that is looked at */

static bool any_stacks;

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

/* The kernel gave [O->first, O->second) anew: stacks that were there are gone. */
static void cut_stacks(struct thread *t, const struct operation *o)
{
        uint32_t at = region_at(o->first);

        while (at < agent.head->region_count && regions()[at].start < o->second) {
                bool gone = regions()[at].flags & LEDGER_REGION_STACK && regions()[at].ticket < o->ticket;

                at = gone ? cut_region(t, at, o) : at + 1;
        }
}

static void apply_add(struct thread *t, const struct operation *o)
{
        struct ledger_region r = { o->first, o->second, o->ticket, o->site, o->birth_ms, o->thread, o->flags };
        struct ledger_counter *c = thread_counter(t, o->site);

        cut_stacks(t, o);
        if (!c || !region_insert(region_at(o->first), &r))
                return;
        peak_before_free(c);
        c->allocs++;
        c->alloc_bytes += o->second - o->first;
}

static bool is_gone(const struct ledger_region *r)
{
        return !descriptor_is_there(&(struct descriptor_stack){ r->start, r->end - LEDGER_REGION_UNUSED(r->flags) });
}

/* Forget region AT if it is unmapped.  Asked twice: whoever maps something there after the event has his own behind it.  Returns the index
 * to go on with. */
static uint32_t drop_gone(struct thread *t, uint32_t at)
{
        struct ledger_region *r = &regions()[at];
        const struct operation whole = { .first = r->start, .second = r->end };

        if (!is_gone(r))
                return at + 1;
        journal_put(t, LEDGER_EVENT_UNMAP, 0, 0, r->start, r->end - r->start);
        if (is_gone(r))
                return cut_region(t, at, &whole);
        journal_put(t, LEDGER_EVENT_UNMAP_FAILED, 0, 0, 0, 0);
        return at + 1;
}

/* Look at O->first stacks, from where the last look ended. */
static void apply_look(struct thread *t, const struct operation *o)
{
        static uint64_t from;
        uint32_t at = region_at(from), steps = agent.head->region_count;
        uint64_t looks = o->first;

        if (looks < REGION_LOOK_ALL && steps > looks * REGION_STEPS)
                steps = (uint32_t)looks * REGION_STEPS;
        for (; steps && looks && agent.head->region_count; steps--) {
                if (at >= agent.head->region_count)
                        at = 0;
                from = regions()[at].end;
                if (!(regions()[at].flags & LEDGER_REGION_STACK)) {
                        at++;
                        continue;
                }
                at = drop_gone(t, at);
                looks--;
        }
}

static uint64_t page_up(uint64_t size)
{
        return (size + SYS_PAGE - 1) & ~(SYS_PAGE - 1);
}

/* An operation for BYTES that CALLER got; NULL: they are not recorded. */
static struct operation *operation_at(struct thread *t, uint32_t kind, uint64_t bytes, struct arch_state caller)
{
        if (agent.special & SPECIAL_OFF) {
                t->last = 0;
                return NULL;
        }
        if (omit_caller(caller.pc)) {
                t->slot->omitted_maps++;
                t->slot->omitted_map_bytes += bytes;
                return NULL;
        }
        t->last = 0;
        return queue_new_at(t, kind, caller);
}

bool region_add(struct thread *t, uint64_t start, uint64_t size, uint32_t kind, struct arch_state caller)
{
        struct operation *o = operation_at(t, kind, page_up(size), caller);

        if (!o)
                return false;
        o->apply = apply_add;
        o->flags = 0;
        o->first = start;
        o->second = start + page_up(size);
        journal_put(t, LEDGER_EVENT_MAP, kind, o->site, start, page_up(size));
        queue_submit(t, o);
        return true;
}

void region_add_stack(struct thread *t, const struct descriptor_stack *stack, uint64_t ticket, struct arch_state caller)
{
        uint64_t bytes = page_up(stack->end) - stack->start;
        struct operation *o;

        region_remove(t, stack->start, bytes, ticket);
        o = operation_at(t, LEDGER_KIND_MMAP, bytes, caller);
        if (!o) {
                region_leaves(t, stack->start, bytes); /* the log: what was there is gone */
                return;
        }
        any_stacks = true;
        o->apply = apply_add;
        o->first = stack->start;
        o->second = stack->start + bytes;
        o->flags = LEDGER_REGION_STACK | (uint32_t)(o->second - stack->end) << 12;
        journal_put(t, LEDGER_EVENT_MAP, LEDGER_KIND_MMAP, o->site, o->first, bytes);
        queue_submit(t, o);
}

void region_look(struct thread *t, uint32_t looks)
{
        struct operation *o = any_stacks && !agent.sandboxed ? queue_new() : NULL;

        if (!o)
                return;
        o->apply = apply_look;
        o->first = looks;
        o->ticket = queue_ticket();
        queue_submit(t, o);
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

void region_look_for(struct arch_state caller, uint32_t looks)
{
        struct thread *t = any_stacks ? hook_enter(caller) : NULL;

        if (!t)
                return;
        hook_work(t);
        region_look(t, looks);
        hook_leave(t);
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
