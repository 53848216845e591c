/* SPDX-License-Identifier: MIT */
/*
 * test_limit.c -- the guard on live memory: what it lets pass, what it refuses, and how often it
 * reports.
 */
#include "agent/limit.h"

#include "alone.h"
#include "tap.h"

#define OMITTED 0u /* a caller that is left out (alone.c) */
#define CALLER 1u

static struct thread *begin(uint64_t limit, uint64_t snapshot_at, uint32_t flags)
{
        alone_begin();
        alone_join(1);
        agent.limit = limit;
        agent.snapshot_at = snapshot_at;
        agent.flags = flags;
        limit_start();
        return &alone_threads[0];
}

static void grow(struct thread *t, uint64_t bytes)
{
        t->writer.slot->alloc_bytes += bytes;
        limit_check(t);
}

TEST(without_a_limit_nothing_is_compared)
{
        begin(0, 0, 0);
        is_equal(agent.special & (SPECIAL_LIMIT | SPECIAL_REFUSE), 0);
}

TEST(passing_the_limit_reports_and_ends_the_program)
{
        struct thread *t = begin(1000, 0, 0);

        is_true(agent.special & SPECIAL_LIMIT);
        is_equal(agent.head->limit_bytes, 1000);
        grow(t, 1000);
        is_equal(alone_marks[LEDGER_MARK_LIMIT], 0);
        grow(t, 1);
        is_equal(alone_marks[LEDGER_MARK_LIMIT], 1);
        is_equal(alone_aborts, 1);
}

TEST(with_a_snapshot_only_it_goes_on_and_reports_once)
{
        struct thread *t = begin(1000, 0, WIRE_F_LIMIT_SNAPSHOT);

        grow(t, 5000);
        grow(t, 5000);
        is_equal(alone_marks[LEDGER_MARK_LIMIT], 1);
        is_equal(alone_aborts, 0);
        is_equal(agent.head->limit_hits, 2);
}

TEST(a_snapshot_is_taken_when_the_heap_first_is_so_large)
{
        struct thread *t = begin(0, 1000, 0);

        grow(t, 999);
        is_equal(alone_marks[LEDGER_MARK_HEAP], 0);
        grow(t, 1);
        grow(t, 1);
        is_equal(alone_marks[LEDGER_MARK_HEAP], 1);
}

TEST(refused_is_what_would_pass_the_limit_and_nothing_else)
{
        struct thread *t = begin(1000, 0, WIRE_F_LIMIT_ENOMEM);
        size_t size = 500;

        is_true(agent.special & SPECIAL_REFUSE);
        grow(t, 400);
        is_true(!limit_refuses(t, 600, CALLER));
        is_true(limit_refuses(t, 601, CALLER));
        is_true(limit_refuses(t, 601, CALLER));
        is_equal(alone_marks[LEDGER_MARK_LIMIT], 1);
        is_true(!limit_refuses(t, 0, CALLER));
        is_true(!limit_refuses(t, SIZE_MAX, CALLER)); /* the allocator says no to it itself */
        agent.special |= SPECIAL_OMIT;
        is_true(!limit_refuses(t, 601, OMITTED));
        t->writer.slot->free_bytes += 200; /* room again */
        is_true(!limit_refuses(t, 601, CALLER));
        grow(t, 5000); /* past it already, in a way that nothing could refuse: it goes on */
        is_equal(alone_aborts, 0);
        is_equal(limit_inner_size(size), size); /* outside of an operator new */
}

TEST(an_operator_new_is_refused_at_its_own_malloc)
{
        struct thread *t = begin(1000, 0, WIRE_F_LIMIT_ENOMEM);

        thread_self = t;
        t->inside = THREAD_ACTIVE + 1000;
        is_equal(limit_inner_size(2000), 2000);
        t->refusing = true;
        is_equal(limit_inner_size(2000), LIMIT_IMPOSSIBLE);
        is_equal(limit_inner_size(1000), 1000);
        thread_self = NULL;
}

/* With several threads: what this one has, and what all had told. */
TEST(several_threads_share_the_limit)
{
        struct thread *t = begin(1000, 0, WIRE_F_LIMIT_ENOMEM);

        agent.head->several = 1;
        agent.head->live_bytes = 700;
        t->writer.slot->alloc_bytes = 250;
        t->writer.slot->flushed_bytes = 50;
        is_true(!limit_refuses(t, 100, CALLER));
        is_true(limit_refuses(t, 101, CALLER));
}

TAP_MAIN(without_a_limit_nothing_is_compared, passing_the_limit_reports_and_ends_the_program,
         with_a_snapshot_only_it_goes_on_and_reports_once,
         a_snapshot_is_taken_when_the_heap_first_is_so_large,
         refused_is_what_would_pass_the_limit_and_nothing_else,
         an_operator_new_is_refused_at_its_own_malloc, several_threads_share_the_limit)
