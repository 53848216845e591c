/* SPDX-License-Identifier: MIT */
/*
 * test_peak.c -- the maximum of live bytes and what it was made of, against a model that looks at
 * everything after each event.
 */
#include "book/count.h"

#include "alone.h"
#include "tap.h"

#define SITES 20u
#define BLOCKS 4000u
#define EVENTS 60000u

static struct {
        uint32_t thread, site;
        uint64_t size;
} blocks[BLOCKS];

static uint64_t live[SITES], at_peak[SITES], total, peak;
static uint64_t seed;

static uint32_t any(uint32_t below)
{
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        return (uint32_t)((seed >> 11) % below);
}

static void begin(uint32_t threads)
{
        alone_begin();
        for (uint32_t i = 1; i <= threads; i++) {
                alone_join(i);
                peak_thread_joined(&agent_book);
        }
        memset(blocks, 0, sizeof blocks);
        memset(live, 0, sizeof live);
        memset(at_peak, 0, sizeof at_peak);
        total = peak = 0;
        seed = 88172645463325252ull;
}

static void count_alloc(struct thread *t, uint32_t site, uint64_t size)
{
        count_add(&agent_book, &t->writer, thread_counter(t, site),
                  (struct count_blocks){ .size = size, .times = 1 });
        live[site] += size;
        total += size;
        if (total > peak) {
                peak = total;
                memcpy(at_peak, live, sizeof live);
        }
}

static void count_free(struct thread *t, uint32_t site, uint64_t size)
{
        count_remove(&agent_book, &t->writer, thread_counter(t, site),
                     (struct count_blocks){ .size = size, .times = 1 });
        live[site] -= size;
        total -= size;
}

/* A block that is freed by any thread; growth and shrinking in turn. */
static void event(uint32_t threads, uint32_t most)
{
        uint32_t i = any(BLOCKS);
        struct thread *t = &alone_threads[any(threads)];

        if (blocks[i].size) {
                count_free(t, blocks[i].site, blocks[i].size);
                blocks[i].size = 0;
        } else {
                blocks[i].site = 1 + any(SITES - 1);
                blocks[i].size = 1 + any(most);
                count_alloc(t, blocks[i].site, blocks[i].size);
        }
}

/* What readers make of a counter (collect/sites.c): saved if of the current epoch, live
 * otherwise. */
static uint64_t site_at_peak(uint32_t threads, uint32_t site)
{
        const struct ledger_head *h = agent.head;
        uint64_t bytes = 0;

        for (uint32_t i = 0; i < threads; i++) {
                const struct ledger_counter *c = thread_counter(&alone_threads[i], site);

                bytes += c->epoch == h->epoch && (h->several || !h->at_peak)
                                 ? (uint64_t)c->peak_bytes
                                 : c->alloc_bytes - c->free_bytes;
        }
        return bytes;
}

static uint64_t sum_at_peak(uint32_t threads)
{
        uint64_t sum = 0;

        for (uint32_t site = 1; site < SITES; site++)
                sum += site_at_peak(threads, site);
        return sum;
}

TEST(one_thread_knows_the_maximum_and_its_parts_exactly_at_any_time)
{
        begin(1);
        for (uint32_t i = 0; i < EVENTS; i++) {
                event(1, 1000);
                if (agent.head->peak_bytes != peak)
                        is_equal(agent.head->peak_bytes, peak);
                for (uint32_t site = 1; site < SITES; site++)
                        if (site_at_peak(1, site) != at_peak[site])
                                is_equal(site_at_peak(1, site), at_peak[site]);
        }
        is_equal(agent.head->peak_error_bytes, 0);
}

static uint64_t apart(uint64_t a, uint64_t b)
{
        return a > b ? a - b : b - a;
}

static void several(uint32_t threads, uint32_t most)
{
        uint64_t bound;

        begin(threads);
        for (uint32_t i = 0; i < EVENTS; i++)
                event(threads, most);
        bound = agent.head->peak_error_bytes;
        is_true(apart(agent.head->peak_bytes, peak) <= bound);
        is_true(apart(sum_at_peak(threads), peak) <= 2 * bound);
        is_true(peak < PEAK_TINY || 2 * bound <= peak / 1000); /* 0.1 % */
        is_true(agent.head->live_bytes - total + agent.head->unseen <= 2 * agent.head->unseen);
}

TEST(several_threads_know_it_within_the_bound_that_they_tell)
{
        for (uint32_t threads = 2; threads <= ALONE_THREADS; threads += 3) {
                several(threads, 40);
                several(threads, 1000);
                several(threads, 100000);
        }
}

/* One thread allocates, another frees: each counter alone goes far below zero and above. */
TEST(blocks_that_go_from_one_thread_to_another_are_counted_once)
{
        begin(2);
        for (uint32_t i = 0; i < 100000; i++) {
                count_alloc(&alone_threads[0], 1, 1000);
                if (i >= 1000)
                        count_free(&alone_threads[1], 1, 1000);
        }
        is_equal(peak, 1001000);
        is_true(apart(agent.head->peak_bytes, peak) <= agent.head->peak_error_bytes);
        is_true(agent.head->peak_error_bytes <= peak / 2000);
}

TEST(a_second_thread_joins_at_the_maximum_of_the_first)
{
        begin(1);
        count_alloc(&alone_threads[0], 1, 5000000);
        is_equal(agent.head->at_peak, 1);
        alone_join(2);
        peak_thread_joined(&agent_book);
        is_equal(agent.head->at_peak, 0);
        count_free(&alone_threads[1], 1, 4000000);
        is_equal(agent.head->peak_bytes, 5000000);
        is_equal(site_at_peak(2, 1), 5000000);
}

TEST(a_forked_child_counts_on_from_what_its_slots_added)
{
        uint64_t sum = 0;

        begin(3);
        for (uint32_t i = 0; i < EVENTS; i++)
                event(3, 1000);
        agent.head->live_bytes += 12345; /* as in a copy that was made while threads went on */
        peak_forked(&agent_book);
        for (uint32_t i = 0; i < 3; i++)
                sum += alone_threads[i].writer.slot->flushed_bytes;
        is_equal(agent.head->live_bytes, sum);
}

TAP_MAIN(one_thread_knows_the_maximum_and_its_parts_exactly_at_any_time,
         several_threads_know_it_within_the_bound_that_they_tell,
         blocks_that_go_from_one_thread_to_another_are_counted_once,
         a_second_thread_joins_at_the_maximum_of_the_first,
         a_forked_child_counts_on_from_what_its_slots_added)
