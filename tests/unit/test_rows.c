/* SPDX-License-Identifier: MIT */
/*
 * test_rows.c -- pictures of a process and of a recording, and the lines of their table.
 */
#include "tap.h"

#include "forge.h"
#include "top/live.h"
#include "top/player.h"
#include "top/rows.h"
#include "wire/hello.h"

static const struct symbol_options names = { .no_cache = true, .no_debuginfod = true };

/* The usual recording at MS, with MORE blocks of 100 bytes at parse, a.c:10. */
static void look(struct live *l, uint64_t ms, uint64_t more, uint32_t flags)
{
        struct profile p;

        forge_usual(&p);
        p.meta.duration_ms = ms;
        p.meta.start_realtime_ns = 1;
        p.sites[FORGE_SITE_PARSE].live_bytes += 100 * more;
        p.sites[FORGE_SITE_PARSE].live_blocks += more;
        p.sites[FORGE_SITE_PARSE].allocs += more;
        p.totals.live_bytes += 100 * more;
        p.totals.allocations += more;
        if (flags & WIRE_LOOK_BLOCKS) {
                forge_thread(&p, 10, "main");
                forge_thread(&p, 11, "pool");
                forge_block(&p, 0x1000, 100, FORGE_SITE_PARSE, 1, 1000);
                forge_block(&p, 0x2000, 200, FORGE_SITE_PARSE, 2, 2000);
                forge_block(&p, 0x3000, 3, FORGE_SITE_SMALL, 2, 4000);
        }
        live_take(l, &p, flags, 1000);
}

static struct rows make(const struct picture *c, enum group_kind group, enum rows_column sort)
{
        struct filter filter = { 0 };
        struct rows_request q = { .filter = &filter, .group = group, .sort = sort };
        struct rows r;
        struct err e = { 0 };

        is_true(rows_make(&r, c, &q, &e));
        filter_free(&filter);
        return r;
}

static const struct row *of_site(const struct rows *r, uint32_t site)
{
        static const struct row none;

        for (uint32_t i = 0; i < r->count; i++)
                if (r->all[i].site == site)
                        return &r->all[i];
        return &none;
}

static const struct row *named(const struct rows *r, const char *name)
{
        static const struct row none;

        for (uint32_t i = 0; i < r->count; i++)
                if (r->all[i].name && strcmp(r->all[i].name, name) == 0)
                        return &r->all[i];
        return &none;
}

TEST(change_and_rate_are_between_looks)
{
        struct live l = { .names = &names };
        struct picture c;
        struct rows r;

        for (uint64_t s = 100; s <= 170; s++)
                look(&l, s * 1000, (s - 100) * 3, 0);
        c = live_picture(&l);
        is_text(c.since, "60s");
        r = make(&c, GROUP_STACK, ROWS_BY_CHANGE);
        is_equal(r.all[0].site, FORGE_SITE_PARSE);
        is_equal(r.all[0].live_bytes, 600 + 70 * 300);
        is_true(r.all[0].change_bytes >= 60 * 300 && r.all[0].change_bytes <= 62 * 300);
        is_equal(r.all[0].calls_per_s, 3);
        is_equal(of_site(&r, FORGE_SITE_LOAD)->change_bytes, 0);
        is_equal(of_site(&r, FORGE_SITE_LOAD)->calls_per_s, 0);
        rows_free(&r);
        live_free(&l);
}

TEST(a_young_process_is_compared_with_its_start)
{
        struct live l = { .names = &names };
        struct picture c;
        struct rows r;

        look(&l, 5000, 0, 0);
        look(&l, 6000, 2, 0);
        c = live_picture(&l);
        is_text(c.since, "start");
        r = make(&c, GROUP_STACK, ROWS_BY_LIVE);
        is_equal(of_site(&r, FORGE_SITE_PARSE)->change_bytes, 800);
        is_equal(of_site(&r, FORGE_SITE_PARSE)->calls_per_s, 2);
        is_equal(of_site(&r, FORGE_SITE_LOAD)->change_bytes, 200);
        rows_free(&r);
        live_free(&l);
}

TEST(mappings_are_not_the_heap)
{
        struct live l = { .names = &names };
        struct picture c;
        struct rows r;
        uint64_t sum = 0;

        look(&l, 5000, 0, 0);
        c = live_picture(&l);
        r = make(&c, GROUP_STACK, ROWS_BY_LIVE);
        for (uint32_t i = 0; i < r.count; i++)
                sum += r.all[i].live_bytes;
        is_equal(r.count, 6);
        is_equal(sum, 1000);
        is_equal(r.all[0].live_bytes, 600);
        is_equal(r.all[5].live_bytes, 3);
        rows_free(&r);
        live_free(&l);
}

TEST(sites_that_got_other_numbers_keep_their_past)
{
        struct live l = { .names = &names };
        struct profile p;
        struct profile_site swap;
        struct picture c;
        struct rows r;

        look(&l, 5000, 0, 0);
        forge_usual(&p);
        p.meta.duration_ms = 6000;
        p.meta.start_realtime_ns = 1;
        swap = p.sites[FORGE_SITE_PARSE];
        p.sites[FORGE_SITE_PARSE] = p.sites[FORGE_SITE_TINY];
        p.sites[FORGE_SITE_TINY] = swap;
        live_take(&l, &p, 0, 1000);
        c = live_picture(&l);
        c.then = c.last;
        r = make(&c, GROUP_STACK, ROWS_BY_LIVE);
        is_equal(r.all[0].site, FORGE_SITE_TINY);
        is_equal(r.all[0].live_bytes, 600);
        is_equal(r.all[0].change_bytes, 0);
        rows_free(&r);
        live_free(&l);
}

TEST(another_program_in_the_same_process_begins_anew)
{
        struct live l = { .names = &names };
        struct profile p;

        look(&l, 5000, 0, 0);
        look(&l, 6000, 0, 0);
        is_true(!l.fresh_names);
        forge_usual(&p);
        p.meta.duration_ms = 100;
        p.meta.start_realtime_ns = 2;
        p.modules[0].start += 4096;
        live_take(&l, &p, 0, 1000);
        is_true(l.fresh_names);
        is_true(live_picture(&l).last == NULL);
        live_free(&l);
}

TEST(ages_are_of_the_blocks_and_go_on_without_a_look_at_them)
{
        struct live l = { .names = &names };
        struct picture c;
        struct rows r;

        look(&l, 5000, 0, WIRE_LOOK_BLOCKS);
        l.history.moments[l.history.moment_count - 1].all[l.numbers[FORGE_SITE_PARSE]].birth_ms =
                1000;
        look(&l, 7000, 0, 0);
        c = live_picture(&l);
        r = make(&c, GROUP_STACK, ROWS_BY_AGE);
        is_equal(of_site(&r, FORGE_SITE_PARSE)->age_ms, 6000);
        is_true(of_site(&r, FORGE_SITE_LOAD)->age_ms == HISTORY_UNKNOWN);
        rows_free(&r);
        look(&l, 9000, 6, 0); /* as many new ones, a second old on average */
        c = live_picture(&l);
        r = make(&c, GROUP_STACK, ROWS_BY_AGE);
        is_equal(of_site(&r, FORGE_SITE_PARSE)->age_ms, 4500);
        rows_free(&r);
        live_free(&l);
}

TEST(groups_add_up_what_they_hold)
{
        struct live l = { .names = &names };
        struct picture c;
        struct rows r;

        look(&l, 5000, 0, WIRE_LOOK_BLOCKS);
        look(&l, 6000, 4, WIRE_LOOK_BLOCKS);
        c = live_picture(&l);
        r = make(&c, GROUP_FUNCTION, ROWS_BY_LIVE);
        is_equal(named(&r, "parse")->live_bytes, 1100);
        is_equal(named(&r, "parse")->live_blocks, 11);
        is_equal(named(&r, "parse")->calls_per_s, 4);
        is_equal(named(&r, "inner")->live_bytes, 93);
        rows_free(&r);
        r = make(&c, GROUP_FILE, ROWS_BY_LIVE);
        is_equal(named(&r, "/src/a.c")->live_bytes, 1100);
        rows_free(&r);
        r = make(&c, GROUP_MODULE, ROWS_BY_LIVE);
        is_equal(r.count, 1);
        is_equal(r.all[0].live_bytes, 1400);
        rows_free(&r);
        r = make(&c, GROUP_THREAD, ROWS_BY_LIVE);
        is_equal(named(&r, "pool")->live_bytes, 203);
        is_equal(named(&r, "pool")->live_blocks, 2);
        is_equal(named(&r, "main")->age_ms, 5000);
        rows_free(&r);
        r = make(&c, GROUP_SIZE, ROWS_BY_LIVE);
        is_equal(named(&r, "up to 256 B")->live_bytes, 200);
        is_equal(named(&r, "up to 4 B")->live_blocks, 1);
        is_true(!r.has_rates);
        rows_free(&r);
        live_free(&l);
}

TEST(threads_need_a_look_at_blocks_and_stacks_keep_their_past_meanwhile)
{
        struct live l = { .names = &names };
        struct picture c;
        struct rows r;

        look(&l, 5000, 0, 0);
        look(&l, 8000, 3, 0);
        l.need_blocks = true;
        is_true(live_picture(&l).now == NULL);
        look(&l, 9000, 3, WIRE_LOOK_BLOCKS);
        look(&l, 11000, 4, WIRE_LOOK_BLOCKS);
        c = live_picture(&l);
        is_equal(c.last->ms, 9000);
        r = make(&c, GROUP_THREAD, ROWS_BY_LIVE);
        is_equal(named(&r, "pool")->live_bytes, 203);
        rows_free(&r);
        l.need_blocks = false;
        c = live_picture(&l);
        is_text(c.since, "start");
        live_free(&l);
}

TEST(a_filter_leaves_the_stacks_it_names)
{
        struct live l = { .names = &names };
        struct filter filter = { 0 };
        struct rows_request q = { .filter = &filter };
        struct picture c;
        struct rows r;
        struct err e = { 0 };

        is_true(filter_add(&filter, FILTER_INCLUDE, "^(tiny|small)$", &e));
        for (uint64_t ms = 5000; ms < 8000; ms += 1000) {
                look(&l, ms, 0, 0);
                c = live_picture(&l);
                is_true(rows_make(&r, &c, &q, &e));
                is_equal(r.count, 2);
                is_equal(r.all[0].live_bytes, 4);
                rows_free(&r);
        }
        filter_free(&filter);
        live_free(&l);
}

TEST(threads_are_counted_by_themselves)
{
        struct live l = { .names = &names };
        struct filter filter = { 0 }, threads = { 0 };
        struct rows_request q = { .filter = &filter };
        struct picture c;
        struct rows r;
        struct err e = { 0 };

        is_true(filter_add(&filter, FILTER_THREAD, "pool", &e) &&
                filter_add(&threads, FILTER_THREAD, "pool", &e));
        live_forget(&l, &threads);
        l.need_blocks = true;
        is_true(live_flags(&l, 0) & WIRE_LOOK_BLOCKS);
        look(&l, 5000, 0, WIRE_LOOK_BLOCKS);
        c = live_picture(&l);
        is_true(rows_make(&r, &c, &q, &e));
        is_equal(r.count, 2);
        is_equal(r.all[0].site, FORGE_SITE_PARSE);
        is_equal(r.all[0].live_bytes, 200);
        is_true(!r.has_change);
        rows_free(&r);
        filter_free(&filter);
        filter_free(&threads);
        live_free(&l);
}

/* ---- recordings ---- */

/* parse has 10 bytes more in each slice, from 1 s on, every second; a snapshot at 30 s. */
static void course(struct profile *p)
{
        forge_usual(p);
        p->meta.duration_ms = 100000;
        for (uint64_t s = 1; s < 100; s++) {
                forge_slice(p, s * 1000);
                p->slices[p->slice_count - 1].live_bytes = 10 * s;
                forge_change(p, FORGE_SITE_PARSE, 10 * s, s, s, 10 * s);
                if (s == 30)
                        forge_mark(p, LEDGER_MARK_SNAPSHOT, 1, "here");
        }
        p->totals.peak_bytes = 1000;
        p->totals.peak_ms = 100000;
}

TEST(a_recording_is_shown_as_it_was_then)
{
        struct profile p;
        struct player player;
        struct picture c;
        struct rows r;

        course(&p);
        player_open(&player, &p, &names);
        player_go(&player, player_find(&player, 80500));
        c = player_picture(&player);
        is_equal(c.now->ms, 80000);
        is_equal(c.peak_bytes, 800);
        is_text(c.since, "60s");
        is_true(!c.whole);
        r = make(&c, GROUP_STACK, ROWS_BY_LIVE);
        is_equal(r.count, 1);
        is_equal(r.all[0].live_bytes, 800);
        is_equal(r.all[0].change_bytes, 600);
        is_equal(r.all[0].calls_per_s, 1);
        rows_free(&r);
        player_go(&player, UINT32_MAX);
        c = player_picture(&player);
        is_equal(c.now->ms, 100000);
        is_equal(c.peak_bytes, 1000);
        r = make(&c, GROUP_STACK, ROWS_BY_LIVE);
        is_equal(r.count, 6);
        rows_free(&r);
        player_free(&player);
        profile_free(&p);
}

TEST(growth_is_judged_by_what_was_known_then)
{
        struct profile p;
        struct player player;
        struct picture c;
        struct rows r;

        course(&p);
        player_open(&player, &p, &names);
        player_go(&player, 5);
        c = player_picture(&player);
        r = make(&c, GROUP_STACK, ROWS_BY_LIVE);
        is_equal(r.all[0].growth.class, GROWTH_UNKNOWN);
        rows_free(&r);
        player_go(&player, 98);
        c = player_picture(&player);
        r = make(&c, GROUP_FUNCTION, ROWS_BY_LIVE);
        is_equal(r.all[0].growth.class, GROWTH_GROWS);
        rows_free(&r);
        player_free(&player);
        profile_free(&p);
}

TEST(marks_are_found_before_and_behind)
{
        struct profile p;
        struct player player;

        course(&p);
        player_open(&player, &p, &names);
        is_true(player_mark(&player, false) == NULL);
        is_equal(player_mark(&player, true)->slice, 29);
        player_go(&player, 29);
        is_true(player_mark(&player, true) == NULL && player_mark(&player, false) == NULL);
        player_go(&player, 0);
        is_equal(player_mark(&player, false)->seq, 1);
        player_free(&player);
        profile_free(&p);
}

TEST(a_recording_without_slices_has_its_end)
{
        struct profile p;
        struct player player;
        struct picture c;

        forge_usual(&p);
        player_open(&player, &p, &names);
        player_go(&player, 0);
        c = player_picture(&player);
        is_equal(c.now->sum.live_bytes, 1000);
        is_true(c.whole);
        player_free(&player);
        profile_free(&p);
}

TAP_MAIN(change_and_rate_are_between_looks, a_young_process_is_compared_with_its_start,
         mappings_are_not_the_heap, sites_that_got_other_numbers_keep_their_past,
         another_program_in_the_same_process_begins_anew,
         ages_are_of_the_blocks_and_go_on_without_a_look_at_them, groups_add_up_what_they_hold,
         threads_need_a_look_at_blocks_and_stacks_keep_their_past_meanwhile,
         a_filter_leaves_the_stacks_it_names, threads_are_counted_by_themselves,
         a_recording_is_shown_as_it_was_then, growth_is_judged_by_what_was_known_then,
         marks_are_found_before_and_behind, a_recording_without_slices_has_its_end)
