/* SPDX-License-Identifier: MIT */
/*
 * test_death.c -- blocks that were born and freed between marks, against sums of our own.
 */
#include "agent/death.h"

#include "alone.h"
#include "tap.h"

#define SITES 50u
#define ERAS 6u

static uint64_t blocks[SITES][ERAS][ERAS], bytes[SITES][ERAS][ERAS];

static uint32_t compare(void)
{
        const struct ledger_death *all = arena_at(LEDGER_DEATHS);
        uint32_t entries = 0;

        for (uint32_t i = 0; i < LEDGER_DEATHS_MAX; i++) {
                uint32_t site = (uint32_t)(all[i].key >> 40), birth = all[i].key >> 20 & 0xfffff, death = all[i].key & 0xfffff;

                if (!all[i].key)
                        continue;
                entries++;
                is_true(site < SITES && birth < ERAS && death < ERAS);
                is_equal(all[i].blocks, blocks[site][birth][death]);
                is_equal(all[i].bytes, bytes[site][birth][death]);
        }
        return entries;
}

TEST(each_pair_of_eras_of_a_site_has_its_sums)
{
        uint32_t pairs = 0;

        alone_begin();
        for (uint32_t round = 0; round < 3; round++)
                for (uint32_t death = 1; death < ERAS; death++)
                        for (uint32_t birth = 1; birth <= death; birth++)
                                for (uint32_t site = 1; site < SITES; site++) {
                                        agent.head->tick_ms = death * 1000 + 7;
                                        death_note(site, birth * 1000, 1 + round, site * 10);
                                        blocks[site][birth][death] += 1 + round;
                                        bytes[site][birth][death] += site * 10;
                                        pairs += round == 0;
                                }
        is_equal(compare(), pairs);
        is_equal(agent.head->deaths_not_kept, 0);
}

TEST(what_was_born_before_the_first_mark_is_not_counted)
{
        alone_begin();
        agent.head->tick_ms = 2000;
        death_note(3, 999, 1, 10);
        for (uint32_t i = 0; i < LEDGER_DEATHS_MAX; i++)
                if (((struct ledger_death *)arena_at(LEDGER_DEATHS))[i].key)
                        is_equal(i, -1);
        is_equal(agent.head->deaths_not_kept, 0);
}

TEST(without_memory_the_loss_is_counted)
{
        alone_begin();
        alone_room[LEDGER_DEATHS] = 0;
        agent.head->tick_ms = 2000;
        death_note(3, 1000, 1, 10);
        death_note(4, 1000, 1, 10);
        is_equal(agent.head->deaths_not_kept, 2);
}

/* More keys than there are places: what is there is found on, the rest is counted. */
TEST(a_full_table_ends_its_search_and_counts_the_loss)
{
        struct ledger_death *all;

        alone_begin();
        all = arena_at(LEDGER_DEATHS);
        for (uint32_t i = 0; i < LEDGER_DEATHS_MAX; i++)
                all[i].key = UINT64_MAX;
        agent.head->tick_ms = 2000;
        death_note(3, 1000, 1, 10);
        is_equal(agent.head->deaths_not_kept, 1);
}

TAP_MAIN(each_pair_of_eras_of_a_site_has_its_sums, what_was_born_before_the_first_mark_is_not_counted, without_memory_the_loss_is_counted,
         a_full_table_ends_its_search_and_counts_the_loss)
