/* SPDX-License-Identifier: MIT */
/*
 * region.c -- what mmap gave: a table of address ranges, and their order.
 *
 * Keeps:  table and order are changed by the holder of the queue's lock only (queue.h).  A region
 *         stays at its place in the table and is there as long as its end is not 0, which is
 *         written last and cleared first: whoever reads the table while it changes, or after we
 *         were killed, may miss a region and sees no wrong one.  The order is for ourselves
 *         (order.h); a forked child makes its own.
 * Cost:   logarithmic; always beside a system call.
 */
#include "agent/region.h"

#include "agent/arena.h"
#include "agent/hook.h"
#include "agent/omit.h"
#include "agent/order.h"
#include "agent/queue.h"
#include "agent/ring.h"
#include "agent/sys.h"
#include "book/count.h"

#include "agent/guest.h"

/* Regions of one order do not overlap.  Stacks have their own: they may be gone already,
 * with others in their place. */
enum { PLAIN, STACKS, ORDERS };

static bool any_stacks;
static bool stale;      /* the order is that of another process */
static uint32_t unused; /* places in the table that are not in use, a list; 1 + the first one */

static bool more_nodes(uint32_t count)
{
        return arena_commit(LEDGER_ORDER, (uint64_t)count * sizeof(struct order_node));
}

static struct order_room room = { .more = more_nodes };
static struct order orders[ORDERS] = { { .room = &room }, { .room = &room } };

static struct ledger_region *region_at(uint32_t place)
{
        return (struct ledger_region *)arena_at(LEDGER_REGIONS) + place;
}

static struct order *order_of(const struct ledger_region *r)
{
        return &orders[r->flags & LEDGER_REGION_STACK ? STACKS : PLAIN];
}

static void region_lost(void)
{
        __atomic_add_fetch(&agent.head->regions_not_kept, 1, __ATOMIC_RELAXED);
        __atomic_add_fetch(&agent.head->lost_events, 1, __ATOMIC_RELAXED);
}

/* 1 + a place in the table; 0 it is full. */
static uint32_t place_new(void)
{
        uint32_t place = unused;

        if (place) {
                unused = (uint32_t)region_at(place - 1)->start;
                return place;
        }
        place = agent.head->region_count + 1;
        if (!arena_commit(LEDGER_REGIONS, (uint64_t)place * sizeof(struct ledger_region)))
                return 0;
        __atomic_store_n(&agent.head->region_count, place, __ATOMIC_RELEASE);
        return place;
}

static void place_put_back(uint32_t place)
{
        struct ledger_region *r = region_at(place);

        __atomic_store_n(&r->end, 0, __ATOMIC_RELEASE);
        __atomic_store_n(&r->start, unused, __ATOMIC_RELEASE);
        unused = place + 1;
}

static bool region_insert(const struct ledger_region *r)
{
        uint32_t place = place_new();
        struct ledger_region *to = region_at(place - 1);

        if (!place || !order_insert(order_of(r), r->start, place - 1)) {
                if (place)
                        place_put_back(place - 1);
                region_lost();
                return false;
        }
        count_region(to, r);
        return true;
}

/* The first region of O that ends behind START and begins before END; NULL none.  PLACE: where it
 * is. */
static struct ledger_region *region_in(const struct order *o, uint64_t start, uint64_t end,
                                       uint32_t *place)
{
        struct order_entry below, above;
        uint32_t found = order_around(o, start, &below, &above);

        if (found & ORDER_BELOW && region_at(below.value)->end > start)
                *place = below.value;
        else if (found & ORDER_ABOVE && above.key < end)
                *place = above.value;
        else
                return NULL;
        return region_at(*place);
}

/* ---- a forked child ---- */

void region_forked(void)
{
        stale = true;
}

static bool is_free(const struct ledger_region *r)
{
        uint32_t place;

        return !region_in(order_of(r), r->start, r->end, &place);
}

/* From the table: it was copied before the fork, while other threads may have changed it, and our
 * order is that of the fork. */
static void order_again(void)
{
        uint32_t count = agent.head->region_count;

        unused = 0;
        room.made = room.unused = 0;
        for (int i = 0; i < ORDERS; i++)
                orders[i] = (struct order){ .room = &room };
        for (uint32_t place = 0; place < count; place++) {
                const struct ledger_region *r = region_at(place);

                if (r->start >= r->end || !is_free(r) ||
                    !order_insert(order_of(r), r->start, place))
                        place_put_back(place);
        }
        stale = false;
}

static void orders_ready(void)
{
        room.nodes = arena_at(LEDGER_ORDER);
        if (unlikely(stale))
                order_again();
}

/* ---- changes ---- */

static void count_removed(struct thread *t, uint32_t site, uint64_t bytes, bool whole)
{
        struct ledger_counter *c = thread_counter(t, site);

        if (c)
                count_unmap(&agent_book, c, bytes, whole);
}

/* R now begins at START, further on. */
static void move_start(struct ledger_region *r, uint32_t place, uint64_t start)
{
        order_remove(order_of(r), r->start);
        if (order_insert(order_of(r), start, place)) {
                __atomic_store_n(&r->start, start, __ATOMIC_RELEASE);
                return;
        }
        place_put_back(place);
        region_lost();
}

/* Cut [O->first, O->second) out of the region at PLACE. */
static void cut_region(struct thread *t, uint32_t place, const struct operation *o)
{
        struct ledger_region *r = region_at(place), tail = *r;
        uint64_t start = o->first > r->start ? o->first : r->start,
                 end = o->second < r->end ? o->second : r->end;
        bool head_left = start > r->start, tail_left = end < r->end;

        count_removed(t, r->site, end - start,
                      !head_left && !tail_left && !(r->flags & LEDGER_REGION_PIECE));
        if (head_left) {
                __atomic_store_n(&r->end, start, __ATOMIC_RELEASE);
                tail.start = end;
                tail.flags |= LEDGER_REGION_PIECE;
                if (tail_left)
                        region_insert(&tail);
        } else if (tail_left) {
                move_start(r, place, end);
        } else {
                order_remove(order_of(r), r->start);
                place_put_back(place);
        }
}

/* Cut [O->first, O->second) out of all regions of FROM that are older than BEFORE. */
static void cut_older(struct thread *t, const struct order *from, const struct operation *o,
                      uint64_t before)
{
        uint64_t at = o->first;
        struct ledger_region *r;
        uint32_t place;

        while (at < o->second && (r = region_in(from, at, o->second, &place))) {
                at = r->end;
                if (r->ticket < before)
                        cut_region(t, place, o);
        }
}

static void apply_remove(struct thread *t, const struct operation *o)
{
        orders_ready();
        for (int i = 0; i < ORDERS; i++)
                cut_older(t, &orders[i], o, o->ticket);
}

/* The kernel gave the range anew, so what else was there is gone: a stack, unseen, or a region
 * whose unmapping is not here yet. */
static void apply_add(struct thread *t, const struct operation *o)
{
        struct ledger_region r = { o->first, o->second, o->ticket, o->site, o->birth_ms, o->thread,
                                   o->flags };
        struct ledger_counter *c = thread_counter(t, o->site);

        orders_ready();
        if (unused)
                __builtin_prefetch(region_at(unused - 1), 1);
        if (order_of(&r) != &orders[STACKS])
                cut_older(t, &orders[STACKS], o, o->ticket);
        cut_older(t, order_of(&r), o, UINT64_MAX);
        if (c && region_insert(&r))
                count_map(&agent_book, c, o->second - o->first);
}

static bool is_gone(const struct ledger_region *r)
{
        return !descriptor_is_there(
                &(struct descriptor_stack){ r->start, r->end - LEDGER_REGION_UNUSED(r->flags) });
}

/* Forget the region at PLACE if it is unmapped.  Asked twice: whoever maps something there after
 * the event has his own behind it. */
static void drop_gone(struct thread *t, uint32_t place)
{
        struct ledger_region *r = region_at(place);
        const struct operation whole = { .first = r->start, .second = r->end };

        if (!is_gone(r))
                return;
        ring_put(t, LEDGER_EVENT_UNMAP, 0, 0, r->start, r->end - r->start);
        if (is_gone(r))
                cut_region(t, place, &whole);
        else
                ring_put(t, LEDGER_EVENT_UNMAP_FAILED, 0, 0, 0, 0);
}

/* Look at O->first stacks, from where the last look ended, each at most once. */
static void apply_look(struct thread *t, const struct operation *o)
{
        static uint64_t from;
        uint64_t began = from;
        bool round = false;
        uint32_t place;

        orders_ready();
        for (uint64_t looks = o->first; looks; looks--) {
                const struct ledger_region *r = region_in(&orders[STACKS], from, UINT64_MAX,
                                                          &place);

                if (!r && !round) {
                        round = true;
                        r = region_in(&orders[STACKS], 0, began, &place);
                }
                if (!r || (round && r->start >= began))
                        return;
                from = r->end;
                drop_gone(t, place);
        }
}

static uint64_t page_up(uint64_t size)
{
        return (size + SYS_PAGE - 1) & ~(SYS_PAGE - 1);
}

/* An operation for BYTES that CALLER got; NULL: they are not recorded. */
static struct operation *operation_at(struct thread *t, uint32_t kind, uint64_t bytes,
                                      struct arch_state caller)
{
        if (agent.special & SPECIAL_OFF) {
                t->writer.last = 0;
                return NULL;
        }
        if (omit_caller(caller.pc)) {
                t->writer.slot->omitted_maps++;
                t->writer.slot->omitted_map_bytes += bytes;
                return NULL;
        }
        t->writer.last = 0;
        return queue_new_at(t, kind, caller);
}

bool region_add(struct thread *t, uint64_t start, uint64_t size, uint32_t kind,
                struct arch_state caller)
{
        struct operation *o = operation_at(t, kind, page_up(size), caller);

        if (!o)
                return false;
        o->apply = apply_add;
        o->flags = 0;
        o->first = start;
        o->second = start + page_up(size);
        ring_put(t, LEDGER_EVENT_MAP, kind, o->site, start, page_up(size));
        queue_submit(t, o);
        return true;
}

void region_add_stack(struct thread *t, const struct descriptor_stack *stack, uint64_t ticket,
                      struct arch_state caller)
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
        ring_put(t, LEDGER_EVENT_MAP, LEDGER_KIND_MMAP, o->site, o->first, bytes);
        if (agent.stream) /* whoever searches has a ledger of its own */
                ring_put(t, LEDGER_EVENT_STACK, 0, 0, o->first, bytes);
        queue_submit(t, o);
}

void region_look(struct thread *t, uint32_t looks)
{
        struct operation *o = any_stacks && !agent.sandboxed ? queue_new(t) : NULL;

        if (!o)
                return;
        o->apply = apply_look;
        o->first = looks;
        o->ticket = queue_ticket();
        queue_submit(t, o);
}

void region_remove(struct thread *t, uint64_t start, uint64_t size, uint64_t ticket)
{
        struct operation *o = queue_new(t);

        t->writer.last = 0;
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
        ring_put(t, LEDGER_EVENT_UNMAP, 0, 0, start, page_up(size));
        return queue_ticket();
}

void region_stays(struct thread *t)
{
        ring_put(t, LEDGER_EVENT_UNMAP_FAILED, 0, 0, 0, 0);
}
