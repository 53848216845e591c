/* SPDX-License-Identifier: MIT */
/*
 * test_marks.c -- marks, releases between them, resources and histograms, from ledger to profile.
 */
#include <stdlib.h>

#include "base/heap.h"
#include "collect/collect.h"
#include "collect/marks.h"
#include "profile/model.h"
#include "profile/packed.h"
#include "specimen.h"
#include "tap.h"
#include "wire/hello.h"

static void collect_all(const struct specimen *f, struct profile *p)
{
        struct view v = specimen_view(f);
        struct collect_input in = { .view = &v, .ended = true };

        collect(&in, p);
        packed_undo(p);
        view_close(&v);
}

TEST(a_mark_is_read_with_its_label_and_begins_an_era)
{
        struct specimen f;
        struct profile_mark m;
        struct view v;

        specimen_open(&f);
        specimen_mark(&f, LEDGER_MARK_TAG, 5, "start");
        specimen_mark(&f, LEDGER_MARK_SNAPSHOT, 9, "n\xe9 \xff");
        v = specimen_view(&f);
        is_true(marks_read(&v, 1, &m));
        is_equal(m.type, LEDGER_MARK_SNAPSHOT);
        is_equal(m.era, 2);
        is_equal(m.ms, 9);
        is_text(m.label, "n\xe9 \xff");
        free(m.label);
        is_true(!marks_read(&v, 2, &m));
        view_close(&v);
        specimen_close(&f);
}

TEST(a_mark_that_is_being_written_is_not_there_yet)
{
        struct specimen f;
        struct profile_mark m;
        struct view v;

        specimen_open(&f);
        specimen_mark(&f, LEDGER_MARK_TAG, 5, "start");
        ((struct ledger_mark *)specimen_part(&f, LEDGER_MARKS))->ready = 0;
        v = specimen_view(&f);
        is_true(!marks_read(&v, 0, &m));
        view_close(&v);
        specimen_close(&f);
}

TEST(a_label_without_an_end_stops_where_the_strings_do)
{
        struct specimen f;
        struct profile_mark m;
        struct view v;

        specimen_open(&f);
        specimen_mark(&f, LEDGER_MARK_TAG, 5, "abc");
        f.head->string_bytes -= 1; /* its NUL is not written yet */
        strcpy((char *)specimen_part(&f, LEDGER_STRINGS) + f.head->string_bytes, "more");
        v = specimen_view(&f);
        is_true(marks_read(&v, 0, &m));
        is_text(m.label, "abc");
        free(m.label);
        ((struct ledger_mark *)specimen_part(&f, LEDGER_MARKS))->label = UINT32_MAX;
        is_true(marks_read(&v, 0, &m));
        is_text(m.label, "");
        free(m.label);
        view_close(&v);
        specimen_close(&f);
}

TEST(deaths_of_sites_that_become_one_are_summed)
{
        struct specimen f;
        struct profile p;
        uint32_t a, b, c;

        specimen_open(&f);
        f.head->several = 1;
        specimen_slot(&f, 0);
        a = specimen_site(&f, specimen_node(&f, 0, 0x100), LEDGER_KIND_MALLOC);
        b = specimen_site(&f, specimen_node(&f, 0, 0x100), LEDGER_KIND_MALLOC);
        c = specimen_site(&f, specimen_node(&f, 0, 0x200), LEDGER_KIND_MALLOC);
        specimen_death(&f, 3, LEDGER_DEATH_KEY(c, 1, 1), 9, 90);
        specimen_death(&f, 500000, LEDGER_DEATH_KEY(b, 1, 2), 2, 20);
        specimen_death(&f, LEDGER_DEATHS_MAX - 1, LEDGER_DEATH_KEY(a, 1, 2), 3, 30);
        specimen_death(&f, 170, LEDGER_DEATH_KEY(a, 1, 1), 4, 40); /* an entry across two pages */
        /* senseless: era 0 is not counted, ... */
        specimen_death(&f, 700, LEDGER_DEATH_KEY(a, 0, 1), 5, 50);
        /* ... and nobody dies before being born */
        specimen_death(&f, 701, LEDGER_DEATH_KEY(a, 3, 2), 6, 60);
        collect_all(&f, &p);
        is_equal(p.death_count, 3);
        is_true(p.deaths[0].site == 1 && p.deaths[0].birth == 1 && p.deaths[0].death == 1 &&
                p.deaths[0].blocks == 4);
        is_true(p.deaths[1].site == 1 && p.deaths[1].death == 2 && p.deaths[1].blocks == 5 &&
                p.deaths[1].bytes == 50);
        is_true(p.deaths[2].site == 2 && p.deaths[2].blocks == 9);
        profile_free(&p);
        specimen_close(&f);
}

TEST(every_death_in_a_dense_table_is_found_once)
{
        struct specimen f;
        struct profile p;
        uint64_t blocks = 0;
        uint32_t site;

        specimen_open(&f);
        site = specimen_site(&f, specimen_node(&f, 0, 0x100), LEDGER_KIND_MALLOC);
        for (uint32_t i = 0; i < 20000; i++)
                specimen_death(&f, 1000 + i, LEDGER_DEATH_KEY(site, 1 + i, 1 + i), 1, 1);
        collect_all(&f, &p);
        is_equal(p.death_count, 20000);
        for (uint32_t i = 0; i < p.death_count; i++)
                blocks += p.deaths[i].blocks;
        is_equal(blocks, 20000);
        profile_free(&p);
        specimen_close(&f);
}

TEST(resources_are_sites_of_their_own_and_in_no_sum_of_bytes)
{
        struct specimen f;
        struct profile p;
        uint32_t kind, site;

        specimen_open(&f);
        specimen_slot(&f, 0);
        specimen_type(&f, "texture");
        kind = specimen_type(&f, "fd");
        site = specimen_site(&f, specimen_node(&f, 0, 0x100), kind);
        specimen_counter(&f, 0, site)->allocs = 3;
        specimen_counter(&f, 0, site)->alloc_bytes = 3000;
        specimen_counter(&f, 0, site)->frees = 1;
        specimen_counter(&f, 0, site)->free_bytes = 1000;
        specimen_handle(&f, 4, 1000, site);
        specimen_handle(&f, 0, 0, 0); /* a free entry */
        specimen_handle(&f, 5, 1000, site);
        specimen_site(&f, specimen_node(&f, 0, 0x200), kind + 1); /* of a type that nobody named */
        collect_all(&f, &p);
        is_equal(p.site_count, 2);
        is_text(profile_kind_name(&p, p.sites[1].kind), "fd");
        is_equal(p.sites[1].live_blocks, 2);
        is_equal(p.sites[1].live_bytes, 2000);
        is_true(p.handle_count == 2 && p.handles[1].handle == 5 && p.handles[1].amount == 1000 &&
                p.handles[1].birth_ms == 7);
        is_true(p.totals.allocations == 0 && p.totals.live_bytes == 0 && p.totals.mmap_calls == 0 &&
                p.totals.mmap_bytes == 0);
        is_equal(p.meta.warning_count, 0);
        profile_free(&p);
        specimen_close(&f);
}

TEST(histograms_of_all_threads_are_summed)
{
        struct specimen f;
        struct profile p;

        specimen_open(&f);
        specimen_slot(&f, 0);
        specimen_slot(&f, 0);
        specimen_slot_at(&f, 0)->sizes[LEDGER_SIZE_CLASSES - 1] = 5;
        specimen_slot_at(&f, 1)->sizes[LEDGER_SIZE_CLASSES - 1] = 7;
        specimen_slot_at(&f, 1)->lifetimes[0] = 11;
        specimen_slot_at(&f, 1)->lifetimes[LEDGER_LIFETIME_CLASSES - 1] = 13;
        collect_all(&f, &p);
        is_equal(p.totals.sizes[LEDGER_SIZE_CLASSES - 1], 12);
        is_equal(p.totals.sizes[0], 0);
        is_equal(p.totals.lifetimes[0], 11);
        is_equal(p.totals.lifetimes[LEDGER_LIFETIME_CLASSES - 1], 13);
        profile_free(&p);
        specimen_close(&f);
}

/* The arena is a block of thread 1, 4096 bytes; thread 2 took two blocks from it, the first at its
 * very start. */
TEST(blocks_of_a_pool_are_taken_off_their_arena)
{
        struct specimen f;
        struct profile p;
        uint32_t arena, pool, plane0, plane5;

        specimen_open(&f);
        specimen_slot(&f, 1);
        specimen_thread(&f, 100, 0, "owner");
        specimen_thread(&f, 101, 0, "user");
        arena = specimen_site(&f, specimen_node(&f, 0, 0x100), LEDGER_KIND_MALLOC);
        pool = specimen_site(&f, specimen_node(&f, 0, 0x200), LEDGER_KIND_POOL);
        plane5 = specimen_chunk(&f, LEDGER_SHADOW_SPAN, 5);
        plane0 = specimen_chunk(&f, LEDGER_SHADOW_SPAN, 0);
        specimen_block(&f, plane0, 8, arena, 4096, 1);
        specimen_block(&f, plane5, 8, pool, 96, 2);
        specimen_block(&f, plane5, 12, pool, 64, 2);
        specimen_events(&f, 0, arena, 1, 0, 4096);
        specimen_counter(&f, 0, arena)->free_bytes = 160;
        specimen_events(&f, 0, pool, 2, 0, 80);
        collect_all(&f, &p);
        is_equal(p.block_count, 3);
        is_true(p.blocks[0].size == 4096 && p.blocks[0].address == p.blocks[1].address);
        is_equal(p.totals.live_bytes, 4096);
        is_equal(p.totals.live_blocks, 3);
        is_equal(p.threads[1].live_bytes, 4096 - 160);
        is_equal(p.threads[2].live_bytes, 160);
        is_equal(p.meta.warning_count, 0);
        profile_free(&p);
        specimen_close(&f);
}

TEST(what_there_was_no_room_for_is_told)
{
        struct specimen f;
        struct profile p;

        specimen_open(&f);
        f.head->marks_not_kept = 3;
        f.head->deaths_not_kept = 4;
        f.head->limit_hits = 2;
        f.head->limit_bytes = 1000000;
        f.head->flags = WIRE_F_LIMIT_ENOMEM;
        collect_all(&f, &p);
        is_equal(p.meta.warning_count, 3);
        has_text(p.meta.warnings[0], "3 later tags and snapshots");
        has_text(p.meta.warnings[1], "4 frees");
        has_text(p.meta.warnings[2],
                 "limit of 1000000 bytes (--limit-heap): 2 allocations beyond it failed");
        profile_free(&p);
        specimen_close(&f);
}

TAP_MAIN(a_mark_is_read_with_its_label_and_begins_an_era,
         a_mark_that_is_being_written_is_not_there_yet,
         a_label_without_an_end_stops_where_the_strings_do,
         deaths_of_sites_that_become_one_are_summed, every_death_in_a_dense_table_is_found_once,
         resources_are_sites_of_their_own_and_in_no_sum_of_bytes,
         histograms_of_all_threads_are_summed, blocks_of_a_pool_are_taken_off_their_arena,
         what_there_was_no_room_for_is_told)
