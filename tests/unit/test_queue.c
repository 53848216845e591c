/* SPDX-License-Identifier: MIT */
/*
 * test_queue.c -- operations that threads hand in, and a fork amid them: the agent's own code, with
 * threads that are only played.
 */
#include "agent/queue.h"

#include "alone.h"
#include "tap.h"

#define MOST 4096u /* as many as there are */

static uint64_t applied[MOST + 1];
static uint32_t applied_count;

static void begin(void)
{
        static bool is_started;

        alone_begin();
        alone_join(2);
        is_true(is_started || queue_start());
        is_started = true;
        queue_forked(NULL);
        applied_count = 0;
}

static void note(struct thread *t, const struct operation *o)
{
        (void)t;
        applied[applied_count++ % (MOST + 1)] = o->first;
}

static bool hand_in(struct thread *t, uint64_t number,
                    void (*apply)(struct thread *, const struct operation *))
{
        struct operation *o = queue_new(t);

        if (!o)
                return false;
        o->apply = apply;
        o->first = number;
        o->ticket = queue_ticket();
        queue_submit(t, o);
        return true;
}

TEST(operations_are_applied_in_the_order_of_their_tickets)
{
        struct operation *late, *early;

        begin();
        late = queue_new(&alone_threads[0]);
        early = queue_new(&alone_threads[1]);
        is_true(late && early && late != early);
        early->apply = late->apply = note;
        early->first = 1;
        early->ticket = queue_ticket();
        late->first = 2;
        late->ticket = queue_ticket();
        queue_submit(&alone_threads[0], late);
        queue_submit(&alone_threads[1], early);
        is_equal(applied_count, 2); /* each found nobody at it */
        is_true(hand_in(&alone_threads[0], 3, note));
        is_equal(applied[2], 3);
}

static uint32_t handed_in;

/* What runs while thread 0 applies, and is interrupted there: the other hands in as much as it
 * can. */
static void fill(struct thread *t, const struct operation *o)
{
        note(t, o);
        while (handed_in + 1 < MOST && hand_in(&alone_threads[1], 1000 + handed_in, note))
                handed_in++;
}

TEST(what_comes_while_somebody_applies_is_left_to_it_in_order)
{
        begin();
        handed_in = 0;
        is_true(hand_in(&alone_threads[0], 7, fill));
        is_equal(handed_in, MOST - 1);
        is_equal(applied_count, MOST);
        for (uint32_t i = 1; i < MOST; i++)
                if (applied[i] != 1000 + i - 1)
                        is_equal(applied[i], 1000 + i - 1);
}

/* The same, and a fork then: in the child thread 1 is alone.  The operation that thread 0 was at is
 * not there to be finished. */
static void fill_and_fork(struct thread *t, const struct operation *o)
{
        fill(t, o);
        is_equal(applied_count, 1);
        queue_forked(&alone_threads[1]);
        is_true(hand_in(&alone_threads[1], 5, note));
        is_equal(applied_count, MOST + 1); /* everything that was handed in before, too */
        is_equal(applied[MOST], 5);
        for (uint32_t i = 0; i < 2 * MOST; i++)
                is_true(hand_in(&alone_threads[1], 6, note));
        is_equal(applied_count, 3 * MOST + 1);
}

TEST(a_fork_while_all_are_handed_in_and_nobody_is_left_to_apply_them)
{
        begin();
        handed_in = 0;
        is_true(hand_in(&alone_threads[0], 7, fill_and_fork));
}

/* A handler that interrupted the one who applies, and forks: what it has in hand stays its own. */
static void fork_inside(struct thread *t, const struct operation *o)
{
        struct operation *other;

        note(t, o);
        t->inside = 1;
        queue_forked(t);
        other = queue_new(t);
        is_true(other && other != o);
        other->apply = note;
        other->first = 8;
        other->ticket = queue_ticket();
        queue_submit(t, other);
        is_equal(applied_count, 1);
}

TEST(a_fork_by_whoever_applies_loses_nothing)
{
        begin();
        is_true(hand_in(&alone_threads[0], 7, fork_inside));
        is_equal(applied_count, 2);
        is_equal(applied[1], 8);
}

/* Its holder is stopped, and everything is full: the event is lost, and nobody waits for ever. */
static void fill_and_ask(struct thread *t, const struct operation *o)
{
        fill(t, o);
        is_true(!queue_new(&alone_threads[1]));
        is_equal(agent.head->lost_events, 1);
        is_true(!queue_new(&alone_threads[0])); /* ourselves: at once */
        is_equal(agent.head->lost_events, 2);
}

TEST(a_full_list_with_its_holder_stopped_ends_the_wait)
{
        begin();
        handed_in = 0;
        is_true(hand_in(&alone_threads[0], 7, fill_and_ask));
        is_equal(applied_count, MOST);
}

/* Before a fork: what was handed in is applied, unless we are the ones who are at it. */
static void settle_inside(struct thread *t, const struct operation *o)
{
        is_true(hand_in(&alone_threads[1], 9, note));
        queue_settle(t);
        is_equal(applied_count, 0);
        note(t, o);
}

TEST(settling_applies_all_and_does_not_wait_for_itself)
{
        begin();
        is_true(hand_in(&alone_threads[0], 7, settle_inside));
        queue_settle(&alone_threads[0]);
        is_equal(applied_count, 2);
        is_equal(applied[1], 9);
}

TAP_MAIN(operations_are_applied_in_the_order_of_their_tickets,
         what_comes_while_somebody_applies_is_left_to_it_in_order,
         a_fork_while_all_are_handed_in_and_nobody_is_left_to_apply_them,
         a_fork_by_whoever_applies_loses_nothing, a_full_list_with_its_holder_stopped_ends_the_wait,
         settling_applies_all_and_does_not_wait_for_itself)
