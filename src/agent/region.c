/* SPDX-License-Identifier: MIT */
/*
 * region.c -- what mmap gave: a sorted list of address ranges.
 *
 * Room:   inside; any context.
 * Keeps:  an operation is put on a list of pending ones; whoever gets the lock applies all of them in ticket order.  Nobody waits: a
 *         thread or signal handler that finds the lock taken leaves its operation to the holder.
 * Cost:   a binary search and moving the entries behind; always beside a system call.
 */
#include "agent/region.h"

#include "agent/arena.h"
#include "agent/bytes.h"
#include "agent/peak.h"
#include "agent/stack.h"
#include "agent/sys.h"
#include "agent/tree.h"

#include "agent/guest.h"

#define OPERATIONS 4096u

struct operation {
        uint64_t start, end, ticket;
        uint32_t site; /* 0: an unmapping */
        uint32_t thread, birth_ms;
        uint32_t used;
        struct operation *next;
};

static struct operation *operations;
static struct operation *pending;
static uint64_t last_ticket;
static uint32_t lock;

bool region_start(void)
{
        operations = sys_memory(OPERATIONS * sizeof *operations);
        return operations != NULL;
}

void region_forked(void)
{
        lock = 0;
}

uint64_t region_ticket(void)
{
        return __atomic_add_fetch(&last_ticket, 1, __ATOMIC_ACQ_REL);
}

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

/* Cut [O->start, O->end) out of region AT.  Returns the index to go on with. */
static uint32_t cut_region(struct thread *t, uint32_t at, const struct operation *o)
{
        struct ledger_region *r = &regions()[at], tail = *r;
        uint64_t start = o->start > r->start ? o->start : r->start, end = o->end < r->end ? o->end : r->end;
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
        uint32_t at = region_at(o->start);

        while (at < agent.head->region_count && regions()[at].start < o->end)
                at = regions()[at].ticket < o->ticket ? cut_region(t, at, o) : at + 1;
}

static void apply_add(struct thread *t, const struct operation *o)
{
        struct ledger_region r = { o->start, o->end, o->ticket, o->site, o->birth_ms, o->thread, 0 };
        struct ledger_counter *c = thread_counter(t, o->site);

        if (!c || !region_insert(region_at(o->start), &r))
                return;
        peak_before_free(c);
        c->allocs++;
        c->alloc_bytes += o->end - o->start;
}

/* Pending operations, oldest ticket first. */
static struct operation *sorted_pending(void)
{
        struct operation *list = __atomic_exchange_n(&pending, NULL, __ATOMIC_ACQUIRE), *sorted = NULL;

        while (list) {
                struct operation *o = list, **place = &sorted;

                list = o->next;
                while (*place && (*place)->ticket < o->ticket)
                        place = &(*place)->next;
                o->next = *place;
                *place = o;
        }
        return sorted;
}

static void apply_pending(struct thread *t)
{
        while (__atomic_load_n(&pending, __ATOMIC_ACQUIRE)) {
                if (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
                        return; /* the holder will look again after letting go */
                __atomic_add_fetch(&agent.head->region_seq, 1, __ATOMIC_RELEASE);
                for (struct operation *o = sorted_pending(), *next; o; o = next) {
                        next = o->next;
                        if (o->site)
                                apply_add(t, o);
                        else
                                apply_remove(t, o);
                        __atomic_store_n(&o->used, 0, __ATOMIC_RELEASE);
                }
                __atomic_add_fetch(&agent.head->region_seq, 1, __ATOMIC_RELEASE);
                __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
        }
}

static struct operation *operation_new(void)
{
        static uint32_t cursor;

        for (uint32_t i = 0; i < OPERATIONS; i++) {
                struct operation *o = &operations[__atomic_fetch_add(&cursor, 1, __ATOMIC_RELAXED) % OPERATIONS];

                if (!__atomic_exchange_n(&o->used, 1, __ATOMIC_ACQUIRE))
                        return o;
        }
        __atomic_add_fetch(&agent.head->lost_events, 1, __ATOMIC_RELAXED);
        return NULL;
}

static void submit(struct thread *t, struct operation *o)
{
        o->next = __atomic_load_n(&pending, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(&pending, &o->next, o, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
                ;
        apply_pending(t);
}

static uint64_t page_up(uint64_t size)
{
        return (size + SYS_PAGE - 1) & ~(SYS_PAGE - 1);
}

void region_add(struct thread *t, uint64_t start, uint64_t size, uint32_t kind, struct arch_state caller)
{
        struct operation *o;
        uint32_t node = 0, site;

        t->last = 0;
        if (agent.flags & WIRE_F_NO_STACKS ? stack_none(t) : stack_capture_whole(t, caller))
                node = stack_node(t);
        site = node ? tree_site(node, kind) : 0;
        o = site ? operation_new() : NULL;
        if (o) {
                o->start = start;
                o->end = start + page_up(size);
                o->site = site;
                o->thread = t->record;
                o->birth_ms = agent_now_ms();
                o->ticket = region_ticket();
                submit(t, o);
        }
}

void region_remove(struct thread *t, uint64_t start, uint64_t size, uint64_t ticket)
{
        struct operation *o;

        t->last = 0;
        o = operation_new();
        if (o) {
                o->start = start;
                o->end = start + page_up(size);
                o->site = 0;
                o->ticket = ticket;
                submit(t, o);
        }
}
