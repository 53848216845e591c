/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include <string.h>

#include "forge.h"
#include "query/growth.h"
#include "query/select.h"
#include "report/flat.h"

enum { COURSE_SLICES = 100, COURSE_MS = 100 }; /* ten seconds */

/* What a site has at slice I of COUNT: bytes live, calls so far. */
struct level {
        uint64_t live, allocs;
};
typedef struct level (*course)(uint32_t i, uint32_t count);

static struct level linear(uint32_t i, uint32_t count)
{
        (void)count;
        return (struct level){ 1000 * (uint64_t)i, 10 * (uint64_t)i };
}

static struct level saw_tooth(uint32_t i, uint32_t count)
{
        (void)count;
        return (struct level){ 5000 + i % 7 * 3000, 10 * (uint64_t)i };
}

static struct level at_start(uint32_t i, uint32_t count)
{
        (void)count;
        return (struct level){ i < 2 ? 0 : 80000, i < 2 ? 0 : 40 };
}

static struct level late_step(uint32_t i, uint32_t count)
{
        bool there = i > count * 6 / 10;

        return (struct level){ there ? 70000 : 0, there };
}

static struct level two_steps(uint32_t i, uint32_t count)
{
        uint64_t steps = (i > count * 4 / 10) + (i > count * 8 / 10);

        return (struct level){ steps * 70000, steps };
}

static struct level noise(uint32_t i, uint32_t count)
{
        uint64_t mixed = (i + 1) * 0x9e3779b97f4a7c15ull;

        (void)count;
        return (struct level){ (mixed ^ mixed >> 29) % 100000, 5 * (uint64_t)i };
}

/* A working set that goes up and down, and a little that stays each time. */
static struct level leak_in_noise(uint32_t i, uint32_t count)
{
        struct level l = noise(i, count);

        return (struct level){ l.live / 10 + 500 * (uint64_t)i, l.allocs };
}

static struct level warm_up(uint32_t i, uint32_t count)
{
        uint32_t warm = i < count / 4 ? i : count / 4;

        return (struct level){ 4000 * (uint64_t)warm + i % 3 * 100, 10 * (uint64_t)i };
}

static struct level saturates(uint32_t i, uint32_t count)
{
        uint32_t until = i < count * 7 / 10 ? i : count * 7 / 10;

        return (struct level){ 1000 * (uint64_t)until, 10 * (uint64_t)i };
}

static struct level begins_late(uint32_t i, uint32_t count)
{
        return (struct level){ i > count / 2 ? 1000 * (uint64_t)(i - count / 2) : 0, i };
}

/* In the last three slices. */
static struct level freed_at_the_end(uint32_t i, uint32_t count)
{
        return (struct level){ i + 3 >= count ? 100 * (uint64_t)(count - i) : 1000 * (uint64_t)i,
                               10 * (uint64_t)i };
}

static struct level freed_over_long(uint32_t i, uint32_t count)
{
        return (struct level){ i > count / 2 ? 1000 * (uint64_t)(count - i) : 1000 * (uint64_t)i,
                               10 * (uint64_t)i };
}

static struct level slow(uint32_t i, uint32_t count)
{
        return (struct level){ i * 6 / count * 64, i * 6 / count };
}

static struct level temporaries(uint32_t i, uint32_t count)
{
        (void)count;
        return (struct level){ 0, 100 * (uint64_t)i };
}

/* Each course is a site of P, in this order, seen by COUNT slices. */
static void forge_courses(struct profile *p, const course *courses, uint32_t course_count,
                          uint32_t count)
{
        p->slices = heap_zero(count, sizeof *p->slices);
        p->slice_count = count;
        p->changes = heap_zero((size_t)count * course_count, sizeof *p->changes);
        for (uint32_t i = 0; i < count; i++) {
                p->slices[i] = (struct profile_slice){ .ms = (uint64_t)i * COURSE_MS,
                                                       .change_first = p->change_count };
                for (uint32_t k = 0; k < course_count; k++) {
                        struct level now = courses[k](i, count),
                                     before = i ? courses[k](i - 1, count) : (struct level){ 0 };

                        p->slices[i].live_bytes += now.live;
                        if (now.live == before.live && now.allocs == before.allocs)
                                continue;
                        p->changes[p->change_count++] = (struct profile_change){
                                k + 1, 0, now.live, now.live / 10, now.allocs, now.live
                        };
                        p->slices[i].change_count++;
                }
        }
        p->meta.duration_ms = (uint64_t)(count - 1) * COURSE_MS;
}

static struct growth judged(course of, uint32_t count)
{
        struct growth *all, found;
        struct profile p;

        forge_start(&p);
        forge_site(&p, 0, LEDGER_KIND_MALLOC, 1, 1);
        forge_courses(&p, &of, 1, count);
        all = growth_judge(&p, NULL);
        found = all[1];
        free(all);
        profile_free(&p);
        return found;
}

TEST(a_linear_leak_grows_at_its_rate)
{
        struct growth found = judged(linear, COURSE_SLICES);

        is_equal(found.class, GROWTH_GROWS);
        is_true(found.bytes_per_s > 9500 && found.bytes_per_s < 10500); /* 1000 bytes each 100 ms */
}

enum { LATE_SLICES = 150 };

static struct level linear_before(uint32_t i, uint32_t count)
{
        return linear(i + LATE_SLICES, count);
}

/* What was there when somebody came to look has not grown since. */
TEST(a_leak_that_was_seen_from_later_on_grows_at_its_rate)
{
        course of = linear_before;
        struct growth *all;
        struct profile p;

        forge_start(&p);
        forge_site(&p, 0, LEDGER_KIND_MALLOC, 1, 1);
        forge_courses(&p, &of, 1, COURSE_SLICES);
        for (uint32_t i = 0; i < p.slice_count; i++)
                p.slices[i].ms += LATE_SLICES * COURSE_MS;
        all = growth_judge(&p, NULL);
        is_equal(all[1].class, GROWTH_GROWS);
        is_true(all[1].bytes_per_s > 9500 && all[1].bytes_per_s < 10500);
        free(all);
        profile_free(&p);
}

/* Nobody looked from 0.5 s to 4.5 s: the level before that gap is not that of its end. */
TEST(a_leak_that_nobody_looked_at_for_a_while_grows_at_its_rate)
{
        enum { GAP_FROM = 5, GAP_TO = 45 };
        course of = linear;
        struct growth *all;
        struct profile p;

        forge_start(&p);
        forge_site(&p, 0, LEDGER_KIND_MALLOC, 1, 1);
        forge_courses(&p, &of, 1, COURSE_SLICES);
        memmove(p.slices + GAP_FROM, p.slices + GAP_TO,
                (COURSE_SLICES - GAP_TO) * sizeof *p.slices);
        p.slice_count -= GAP_TO - GAP_FROM;
        all = growth_judge(&p, NULL);
        is_equal(all[1].class, GROWTH_GROWS);
        is_true(all[1].bytes_per_s > 9500 && all[1].bytes_per_s < 10500);
        free(all);
        profile_free(&p);
}

TEST(a_leak_shows_through_a_working_set)
{
        struct growth found = judged(leak_in_noise, COURSE_SLICES);

        is_equal(found.class, GROWTH_GROWS);
        is_true(found.bytes_per_s > 3500 && found.bytes_per_s < 6500);
}

TEST(a_leak_that_begins_in_the_second_half_grows)
{
        is_equal(judged(begins_late, COURSE_SLICES).class, GROWTH_GROWS);
}

TEST(a_few_small_blocks_over_the_run_grow)
{
        is_equal(judged(slow, COURSE_SLICES).class, GROWTH_GROWS);
}

TEST(tidying_up_at_the_end_does_not_hide_growth)
{
        is_equal(judged(freed_at_the_end, COURSE_SLICES).class, GROWTH_GROWS);
        is_equal(judged(freed_over_long, COURSE_SLICES).class, GROWTH_BOUNDED);
}

TEST(a_cache_that_falls_back_is_bounded)
{
        is_equal(judged(saw_tooth, COURSE_SLICES).class, GROWTH_BOUNDED);
}

TEST(noise_is_bounded)
{
        is_equal(judged(noise, COURSE_SLICES).class, GROWTH_BOUNDED);
        is_equal(judged(temporaries, COURSE_SLICES).class, GROWTH_BOUNDED);
}

TEST(warm_up_is_bounded)
{
        is_equal(judged(warm_up, COURSE_SLICES).class, GROWTH_BOUNDED);
}

TEST(what_has_stopped_to_rise_is_bounded)
{
        is_equal(judged(saturates, COURSE_SLICES).class, GROWTH_BOUNDED);
}

TEST(initialisation_and_one_step_are_once)
{
        is_equal(judged(at_start, COURSE_SLICES).class, GROWTH_ONCE);
        is_equal(judged(late_step, COURSE_SLICES).class, GROWTH_ONCE);
}

TEST(two_steps_are_not_growth)
{
        is_equal(judged(two_steps, COURSE_SLICES).class, GROWTH_BOUNDED);
}

TEST(few_slices_tell_nothing)
{
        struct profile p;
        struct growth *none;

        is_equal(judged(linear, 15).class, GROWTH_UNKNOWN);
        is_equal(judged(linear, 16).class, GROWTH_GROWS);
        forge_usual(&p);
        none = growth_judge(&p, NULL);
        is_equal(none[1].class, GROWTH_UNKNOWN);
        free(none);
        profile_free(&p);
}

TEST(summed_stacks_are_judged_as_one)
{
        static const course both[] = { linear, saturates };
        uint32_t leaders[] = { 0, 1, 1 };
        struct growth *all;
        struct profile p;

        forge_start(&p);
        forge_site(&p, 0, LEDGER_KIND_MALLOC, 1, 1);
        forge_site(&p, 0, LEDGER_KIND_CALLOC, 1, 1);
        forge_courses(&p, both, 2, COURSE_SLICES);
        all = growth_judge(&p, leaders);
        is_equal(all[1].class, GROWTH_GROWS);
        /* 10000 and, until 70 %, 10000 more */
        is_true(all[1].bytes_per_s > 14000 && all[1].bytes_per_s < 18000);
        free(all);
        profile_free(&p);
}

TEST(rates_are_told_in_a_unit_that_fits)
{
        struct str out = { 0 };

        growth_write(&(struct growth){ .class = GROWTH_GROWS, .bytes_per_s = 2048 }, &out);
        str_char(&out, '|');
        growth_write(&(struct growth){ .class = GROWTH_GROWS, .bytes_per_s = 2 }, &out);
        str_char(&out, '|');
        growth_write(&(struct growth){ .class = GROWTH_GROWS, .bytes_per_s = 0.01 }, &out);
        str_char(&out, '|');
        growth_write(&(struct growth){ .class = GROWTH_BOUNDED, .bytes_per_s = 0 }, &out);
        growth_write(&(struct growth){ .class = GROWTH_UNKNOWN, .bytes_per_s = 0 }, &out);
        is_text(str_get(&out), "grows 2.0 KiB/s|grows 120 B/min|grows 36 B/h|bounded");
        str_free(&out);
}

TEST(the_list_begins_with_what_grows)
{
        static const course courses[] = { at_start, linear, saw_tooth };
        struct select_request request = { .cost = SELECT_LIVE };
        struct flat_options options = { .key = SORT_LIVE_BYTES, .growing_first = true };
        struct str out = { 0 };
        struct selection sel;
        struct err e = { 0 };
        struct profile p;
        struct symbols *s;

        forge_usual(&p);
        p.site_count = 4;
        forge_courses(&p, courses, 3, COURSE_SLICES);
        s = forge_symbols(&p);
        is_true(select_make(&sel, &p, s, &request, &e));
        flat_write(&sel, s, &options, &out);
        forge_without_sites(out.data);
        has_text(out.data, "growth: 1 stack that grows 9.8 KiB/s in all; 1 bounded, 1 once\n\n"
                           "   1. 9.8 KiB/s    grows, by calloc\n      not freed 100 B in 1 block, "
                           "in all 100 B by 1 call, 0 freed\n"
                           "        parse [/src/a.c:20]\n");
        has_text(out.data, "   2. 600 B ");
        has_text(out.data, "once\n        parse [/src/a.c:10]\n");
        has_text(out.data, "bounded\n        load [/src/l.c:7]\n");
        str_free(&out);
        select_free(&sel);
        symbols_free(s);
        profile_free(&p);
}

TEST(what_grew_until_it_was_freed_at_the_end_is_listed)
{
        static const course courses[] = { freed_at_the_end };
        struct flat_options options = { .key = SORT_LIVE_BYTES, .growing_first = true };
        struct select_request request = { .cost = SELECT_LIVE };
        struct str out = { 0 };
        struct selection sel;
        struct err e = { 0 };
        struct profile p;
        struct symbols *s;

        forge_usual(&p);
        p.sites[FORGE_SITE_PARSE].live_bytes = p.sites[FORGE_SITE_PARSE].live_blocks = 0;
        forge_courses(&p, courses, 1, COURSE_SLICES);
        s = forge_symbols(&p);
        is_true(select_make(&sel, &p, s, &request, &e));
        flat_write(&sel, s, &options, &out);
        forge_without_sites(out.data);
        has_text(out.data, "   1. 9.8 KiB/s    grows, by malloc\n      not freed 0 B in 0 blocks");
        has_text(out.data, "freed\n        parse [/src/a.c:10]\n");
        str_free(&out);
        select_free(&sel);
        symbols_free(s);
        profile_free(&p);
}

TAP_MAIN(a_linear_leak_grows_at_its_rate, a_leak_that_was_seen_from_later_on_grows_at_its_rate,
         a_leak_that_nobody_looked_at_for_a_while_grows_at_its_rate,
         a_leak_shows_through_a_working_set, a_leak_that_begins_in_the_second_half_grows,
         a_few_small_blocks_over_the_run_grow, tidying_up_at_the_end_does_not_hide_growth,
         a_cache_that_falls_back_is_bounded, noise_is_bounded, warm_up_is_bounded,
         what_has_stopped_to_rise_is_bounded, initialisation_and_one_step_are_once,
         two_steps_are_not_growth, few_slices_tell_nothing, summed_stacks_are_judged_as_one,
         rates_are_told_in_a_unit_that_fits, the_list_begins_with_what_grows,
         what_grew_until_it_was_freed_at_the_end_is_listed)
