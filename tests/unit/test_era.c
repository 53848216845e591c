/* SPDX-License-Identifier: MIT */
/*
 * test_era.c -- blocks that were born and freed between marks, against sums of our own.
 */
#include "book/era.h"

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
                uint32_t site = (uint32_t)(all[i].key >> 40), birth = all[i].key >> 20 & 0xfffff,
                         death = all[i].key & 0xfffff;

                if (!all[i].key)
                        continue;
                entries++;
                is_true(site < SITES && birth < ERAS && death < ERAS);
                is_equal(all[i].blocks, blocks[site][birth][death]);
                is_equal(all[i].bytes, bytes[site][birth][death]);
        }
        return entries;
}

static void death(uint32_t site, uint32_t birth_ms, uint64_t count)
{
        struct ledger_block b = { (uint64_t)(site * 10) << 32 | site, birth_ms };

        era_death(&agent_book, &b, count);
}

static void mark(uint32_t ms)
{
        struct ledger_mark m = { .type = LEDGER_MARK_TAG };

        is_true(era_mark(&agent_book, &m, ms) != ERA_NO_MARK);
}

TEST(each_pair_of_eras_of_a_site_has_its_sums)
{
        uint32_t pairs = 0;

        alone_begin();
        for (uint32_t now = 1; now < ERAS; now++) {
                mark(now * 1000);
                is_equal(agent.head->tick_ms, now * 1000);
                for (uint32_t birth = 1; birth <= now; birth++)
                        for (uint32_t site = 1; site < SITES; site++, pairs++) {
                                death(site, birth * 1000 + 5 * (site % 2), 1);
                                death(site, birth * 1000, 2);
                                blocks[site][birth][now] += 3;
                                bytes[site][birth][now] += 3 * site * 10;
                        }
        }
        is_equal(compare(), pairs);
        is_equal(agent.head->deaths_not_kept, 0);
}

TEST(marks_that_come_faster_than_the_clock_have_times_of_their_own)
{
        alone_begin();
        for (uint32_t i = 0; i < 100; i++)
                mark(50);
        for (uint32_t i = 0; i < 100; i++)
                is_equal(era_of(&agent_book, 50 + i), i + 1);
        is_equal(era_now(&agent_book), 100);
}

TEST(what_was_born_before_the_first_mark_is_not_counted)
{
        alone_begin();
        mark(1000);
        death(3, 999, 1);
        for (uint32_t i = 0; i < LEDGER_DEATHS_MAX; i++)
                if (((struct ledger_death *)arena_at(LEDGER_DEATHS))[i].key)
                        is_equal(i, -1);
        is_equal(agent.head->deaths_not_kept, 0);
}

TEST(without_memory_the_loss_is_counted)
{
        alone_begin();
        alone_room[LEDGER_DEATHS] = 0;
        mark(1000);
        death(3, 1000, 1);
        death(4, 1000, 1);
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
        mark(1000);
        death(3, 1000, 1);
        is_equal(agent.head->deaths_not_kept, 1);
}

TAP_MAIN(each_pair_of_eras_of_a_site_has_its_sums,
         marks_that_come_faster_than_the_clock_have_times_of_their_own,
         what_was_born_before_the_first_mark_is_not_counted, without_memory_the_loss_is_counted,
         a_full_table_ends_its_search_and_counts_the_loss)
