/* SPDX-License-Identifier: MIT */
/*
 * test_region.c -- mappings, against a model that knows for each page whose it is.
 */
#include "agent/region.h"

#include "agent/queue.h"
#include "alone.h"
#include "tap.h"

#define PAGE 4096ull
#define BASE 0x7f0000000000ull
#define PAGES 400u
#define ROUNDS 30000u

static uint32_t owner[PAGES]; /* the site of whatever is mapped there; 0 nothing */
static uint64_t mapped[1000], mapped_count[1000]; /* by site */
static const struct arch_state caller = { .pc = 1 };
static bool stacks_are_gone;
static uint64_t seed;

bool descriptor_is_there(const struct descriptor_stack *stack)
{
        (void)stack;
        return !stacks_are_gone;
}

static uint32_t any(uint32_t below)
{
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        return (uint32_t)((seed >> 11) % below);
}

static struct thread *begin(void)
{
        static bool is_started;

        alone_begin();
        alone_join(2);
        if (!is_started)
                is_true(queue_start());
        is_started = true;
        queue_forked(NULL);
        region_forked();
        memset(owner, 0, sizeof owner);
        memset(mapped, 0, sizeof mapped);
        memset(mapped_count, 0, sizeof mapped_count);
        stacks_are_gone = false;
        seed = 88172645463325252ull;
        return &alone_threads[0];
}

static uint64_t at(uint32_t page)
{
        return BASE + page * PAGE;
}

static void model(uint32_t first, uint32_t end, uint32_t site)
{
        for (; first < end; first++)
                owner[first] = site;
}

static void map(struct thread *t, uint32_t first, uint32_t end, uint32_t site)
{
        alone_site = site;
        is_true(region_add(t, at(first), (end - first) * PAGE, LEDGER_KIND_MMAP, caller));
        model(first, end, site);
        mapped[site] += (end - first) * PAGE;
        mapped_count[site]++;
}

static void unmap(struct thread *t, uint32_t first, uint32_t end)
{
        region_remove(t, at(first), (end - first) * PAGE,
                      region_leaves(t, at(first), (end - first) * PAGE));
        model(first, end, 0);
}

static const struct ledger_region *table(void)
{
        return arena_at(LEDGER_REGIONS);
}

/* Each page is in the region that it belongs to, and in no other; what the sites have left is what
 * their counters say. */
static bool is_as_modelled(void)
{
        static uint32_t seen[PAGES];
        uint64_t left[1000] = { 0 };
        bool good = agent.head->region_seq % 2 == 0;

        memset(seen, 0, sizeof seen);
        for (uint32_t i = 0; i < agent.head->region_count; i++)
                for (uint64_t p = table()[i].start; table()[i].end && p < table()[i].end;
                     p += PAGE) {
                        good &= p >= BASE && p < at(PAGES) && !seen[(p - BASE) / PAGE];
                        seen[(p - BASE) / PAGE] = table()[i].site;
                        left[table()[i].site] += PAGE;
                }
        for (uint32_t site = 1; site < 1000; site++) {
                const struct ledger_counter *c[2] = { thread_counter(&alone_threads[0], site),
                                                      thread_counter(&alone_threads[1], site) };

                good &= c[0]->alloc_bytes + c[1]->alloc_bytes == mapped[site] &&
                        c[0]->allocs + c[1]->allocs == mapped_count[site];
                good &= mapped[site] - c[0]->free_bytes - c[1]->free_bytes == left[site];
        }
        return good && !memcmp(seen, owner, sizeof seen);
}

static void random_event(void)
{
        struct thread *t = &alone_threads[any(2)];
        uint32_t first = any(PAGES), end = first + 1 + any(any(20) ? 8 : PAGES - first);

        end = end < PAGES ? end : PAGES;
        if (any(2))
                map(t, first, end, 1 + any(999)); /* also where something is: MAP_FIXED */
        else
                unmap(t, first, end);
}

TEST(any_sequence_leaves_the_table_and_the_counters_right)
{
        begin();
        for (uint32_t i = 0; i < ROUNDS; i++) {
                random_event();
                if (i % 64 == 0 && !is_as_modelled()) {
                        is_equal(i, -1);
                        return;
                }
        }
        is_true(is_as_modelled());
        unmap(&alone_threads[0], 0, PAGES);
        is_true(is_as_modelled());
        is_equal(agent.head->lost_events, 0);
        is_true(agent.head->region_count <= PAGES + 1); /* places are used again */
}

/* The kernel gives a range to another thread between an unmapping and its note. */
TEST(an_unmapping_leaves_what_came_after_its_ticket)
{
        struct thread *t = begin();
        uint64_t ticket;

        map(t, 10, 20, 5);
        ticket = region_leaves(t, at(10), 10 * PAGE);
        map(&alone_threads[1], 12, 15, 6);
        region_remove(t, at(10), 10 * PAGE, ticket);
        model(10, 12, 0);
        model(15, 20, 0);
        is_true(is_as_modelled());
}

TEST(an_unmapping_that_failed_changes_nothing)
{
        struct thread *t = begin();

        map(t, 10, 20, 5);
        region_leaves(t, at(10), 10 * PAGE);
        region_stays(t);
        is_true(is_as_modelled());
}

/* A mapping in three pieces is one mapping until its first piece is gone. */
TEST(pieces_of_a_mapping_are_counted_once)
{
        struct thread *t = begin();
        const struct ledger_counter *c;

        map(t, 0, 30, 9);
        unmap(t, 10, 12);
        unmap(t, 20, 22);
        c = thread_counter(t, 9);
        is_equal(c->frees, 0);
        unmap(t, 22, 30);
        unmap(t, 12, 20);
        is_equal(c->frees, 0);
        unmap(t, 0, 10);
        is_equal(c->frees, 1);
        is_true(is_as_modelled());
}

TEST(a_forked_child_makes_its_order_anew_and_goes_on)
{
        begin();
        for (uint32_t i = 0; i < 2000; i++)
                random_event();
        region_forked();
        for (uint32_t i = 0; i < 2000; i++)
                random_event();
        is_true(is_as_modelled());
}

/* A copy of a table that was being changed: an entry with its end before its start, and one that
 * overlaps. */
TEST(a_forked_child_drops_what_was_half_written)
{
        struct thread *t = begin();
        struct ledger_region *r;

        map(t, 10, 20, 5);
        map(t, 30, 40, 6);
        map(t, 50, 60, 7);
        r = arena_at(LEDGER_REGIONS);
        r[1].start = at(45);
        r[2].start = at(15);
        region_forked();
        unmap(t, 70, 71);
        is_equal(r[1].end, 0);
        is_equal(r[2].end, 0);
        unmap(t, 10, 20);
        is_equal(r[0].end, 0);
}

TEST(a_full_table_counts_what_it_does_not_keep)
{
        struct thread *t = begin();

        alone_room[LEDGER_REGIONS] = 2 * sizeof(struct ledger_region);
        alone_site = 4;
        for (uint32_t i = 0; i < 5; i++)
                is_true(region_add(t, at(2 * i), PAGE, LEDGER_KIND_MMAP, caller));
        is_equal(agent.head->regions_not_kept, 3);
        is_equal(agent.head->lost_events, 3);
        is_equal(thread_counter(t, 4)->allocs, 2);
        region_remove(t, at(0), PAGE, region_leaves(t, at(0), PAGE));
        /* there is a place again */
        is_true(region_add(t, at(100), PAGE, LEDGER_KIND_MMAP, caller));
        is_equal(agent.head->regions_not_kept, 3);
}

TEST(stacks_that_the_c_library_took_away_are_forgotten_at_a_look)
{
        struct thread *t = begin();
        const struct descriptor_stack stack = { at(20), at(28) - 100 };

        alone_site = 3;
        region_add_stack(t, &stack, queue_ticket(), caller);
        is_equal(thread_counter(t, 3)->alloc_bytes, 8 * PAGE);
        region_look(t, REGION_LOOK_ALL);
        is_equal(thread_counter(t, 3)->frees, 0);
        stacks_are_gone = true;
        region_look(t, REGION_LOOK_ALL);
        is_equal(thread_counter(t, 3)->frees, 1);
        is_equal(thread_counter(t, 3)->free_bytes, 8 * PAGE);
}

TEST(what_is_mapped_where_a_stack_was_ends_the_stack)
{
        struct thread *t = begin();
        const struct descriptor_stack stack = { at(20), at(28) };

        alone_site = 3;
        region_add_stack(t, &stack, queue_ticket(), caller);
        map(t, 22, 24, 8);
        is_equal(thread_counter(t, 3)->free_bytes, 2 * PAGE);
}

TEST(what_is_left_out_or_switched_off_is_no_region)
{
        struct thread *t = begin();
        const struct arch_state left_out = { .pc = 0 };

        agent.special = SPECIAL_OMIT;
        is_true(!region_add(t, at(1), PAGE, LEDGER_KIND_MMAP, left_out));
        is_equal(t->writer.slot->omitted_maps, 1);
        is_equal(t->writer.slot->omitted_map_bytes, PAGE);
        agent.special = SPECIAL_OFF;
        is_true(!region_add(t, at(1), PAGE, LEDGER_KIND_MMAP, caller));
        is_equal(agent.head->region_count, 0);
}

TAP_MAIN(any_sequence_leaves_the_table_and_the_counters_right,
         an_unmapping_leaves_what_came_after_its_ticket, an_unmapping_that_failed_changes_nothing,
         pieces_of_a_mapping_are_counted_once, a_forked_child_makes_its_order_anew_and_goes_on,
         a_forked_child_drops_what_was_half_written, a_full_table_counts_what_it_does_not_keep,
         stacks_that_the_c_library_took_away_are_forgotten_at_a_look,
         what_is_mapped_where_a_stack_was_ends_the_stack,
         what_is_left_out_or_switched_off_is_no_region)
