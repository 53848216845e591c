/* SPDX-License-Identifier: MIT */
/*
 * test_numbers.c -- stacks get numbers: against what was asked for before.
 */
#include "book/tree.h"

#include <pthread.h>

#include "alone.h"
#include "tap.h"

#define NODES 20000u /* the tables begin with room for a tenth of it */
#define KINDS 3u
#define THREADS 4

static void begin(void)
{
        alone_begin();
        is_true(tree_start(&agent_book));
}

static uint64_t pc_of(uint32_t i)
{
        return 0x1000 + 16ull * i;
}

TEST(a_frame_below_a_parent_has_one_number_that_stays)
{
        static uint32_t numbers[NODES];

        begin();
        for (uint32_t i = 0; i < NODES; i++) {
                uint32_t parent = i < 10 ? LEDGER_NODE_ROOT : numbers[i / 10];

                numbers[i] = tree_find(&agent_book, parent, pc_of(i % 100));
                is_equal(agent_book.nodes[numbers[i]].parent, parent);
                is_equal(agent_book.nodes[numbers[i]].pc_module, pc_of(i % 100));
        }
        for (uint32_t i = 0; i < NODES; i++)
                if (tree_find(&agent_book, i < 10 ? LEDGER_NODE_ROOT : numbers[i / 10],
                              pc_of(i % 100)) != numbers[i])
                        is_equal(i, -1);
        is_equal(agent.head->node_count, NODES + 2);
}

TEST(each_kind_from_one_stack_is_a_site_of_its_own)
{
        uint32_t sites[KINDS];

        begin();
        for (uint32_t node = 2; node < 100; node++) {
                for (uint32_t kind = 0; kind < KINDS; kind++)
                        sites[kind] = tree_site(&agent_book, node, LEDGER_KIND_MALLOC + kind);
                for (uint32_t kind = 0; kind < KINDS; kind++) {
                        is_equal(tree_site(&agent_book, node, LEDGER_KIND_MALLOC + kind),
                                 sites[kind]);
                        is_equal(agent_book.sites[sites[kind]].node, node);
                        is_equal(agent_book.sites[sites[kind]].kind, LEDGER_KIND_MALLOC + kind);
                }
                is_true(sites[0] != sites[1] && sites[1] != sites[2] && sites[0] != sites[2]);
        }
        is_equal(agent.head->site_count, 98 * KINDS + 1);
}

TEST(a_full_table_says_so_and_keeps_what_it_has)
{
        uint32_t first;

        begin();
        first = tree_find(&agent_book, LEDGER_NODE_ROOT, pc_of(1));
        alone_room[LEDGER_NODES] = 3 * sizeof(struct ledger_node);
        is_equal(tree_find(&agent_book, LEDGER_NODE_ROOT, pc_of(2)), 0);
        is_equal(alone_end, LEDGER_STOP_NODES_FULL);
        is_equal(tree_find(&agent_book, LEDGER_NODE_ROOT, pc_of(1)), first);
        is_equal(agent.head->node_count, 3);
        is_true(tree_site(&agent_book, first, LEDGER_KIND_MALLOC) != 0);
        alone_room[LEDGER_SITES] = 2 * sizeof(struct ledger_site);
        is_equal(tree_site(&agent_book, first, LEDGER_KIND_CALLOC), 0);
        is_equal(alone_end, LEDGER_STOP_SITES_FULL);
        is_equal(alone_ends, 2);
        is_equal(agent.head->site_count, 2);
}

TEST(what_an_event_looks_up_is_found_again_while_the_table_grows)
{
        begin();
        for (uint32_t i = 1; i <= NODES; i++) {
                uint64_t key = i * 0x9e3779b97f4a7c15ull;

                is_equal(tree_stack_find(&agent_book, key), 0);
                tree_stack_add(&agent_book, key, i);
        }
        for (uint32_t i = 1; i <= NODES; i++)
                if (tree_stack_find(&agent_book, i * 0x9e3779b97f4a7c15ull) != i)
                        is_equal(i, -1);
        tree_stack_add(&agent_book, 0, 5);
        is_equal(tree_stack_find(&agent_book, 0), 0); /* a stack without a number is never found */
}

/* As a signal handler sees it that interrupted whoever adds: nothing is changed, nobody waits;
 * after a fork the lock is gone. */
TEST(a_fork_while_another_thread_adds_leaves_no_lock)
{
        begin();
        tree_forked(&agent_book);
        tree_stack_add(&agent_book, 77, 1);
        is_equal(tree_stack_find(&agent_book, 77), 1);
}

static pthread_barrier_t all_there;

static void *add_all(void *wrong)
{
        pthread_barrier_wait(&all_there);
        for (uint32_t i = 0; i < NODES; i++) {
                uint32_t parent = i % 7 ? LEDGER_NODE_ROOT
                                        : tree_find(&agent_book, LEDGER_NODE_ROOT, pc_of(i + 1)),
                         node = tree_find(&agent_book, parent, pc_of(i)), site;

                site = tree_site(&agent_book, node, LEDGER_KIND_MALLOC + i % KINDS);
                if (agent_book.nodes[node].parent != parent ||
                    agent_book.nodes[node].pc_module != pc_of(i) ||
                    agent_book.sites[site].node != node ||
                    agent_book.sites[site].kind != LEDGER_KIND_MALLOC + i % KINDS)
                        __atomic_add_fetch((uint32_t *)wrong, 1, __ATOMIC_RELAXED);
        }
        return NULL;
}

/* The same new stack may get two numbers then; none is another's. */
TEST(threads_that_meet_the_same_new_stacks_get_numbers_that_mean_them)
{
        pthread_t threads[THREADS];
        uint32_t wrong = 0;

        begin();
        pthread_barrier_init(&all_there, NULL, THREADS);
        for (int i = 0; i < THREADS; i++)
                pthread_create(&threads[i], NULL, add_all, &wrong);
        for (int i = 0; i < THREADS; i++)
                pthread_join(threads[i], NULL);
        pthread_barrier_destroy(&all_there);
        is_equal(wrong, 0);
        is_true(agent.head->node_count >= NODES + 2 &&
                agent.head->node_count <= 3 * THREADS * NODES);
        is_equal(alone_ends, 0);
}

TAP_MAIN(a_frame_below_a_parent_has_one_number_that_stays,
         each_kind_from_one_stack_is_a_site_of_its_own, a_full_table_says_so_and_keeps_what_it_has,
         what_an_event_looks_up_is_found_again_while_the_table_grows,
         a_fork_while_another_thread_adds_leaves_no_lock,
         threads_that_meet_the_same_new_stacks_get_numbers_that_mean_them)
