/* SPDX-License-Identifier: MIT */
/*
 * test_slices.c -- the course of a run against a model that keeps every moment.
 */
#include <stdlib.h>

#include "base/heap.h"
#include "collect/slices.h"
#include "profile/model.h"
#include "specimen.h"
#include "tap.h"

#define SITES 40u
#define MOMENTS 700u

/* What the sites were at each moment, remembered independently. */
struct moment {
        uint64_t ms;
        uint64_t blocks[SITES + 1], bytes[SITES + 1], allocs[SITES + 1];
        uint64_t all_blocks, all_bytes, all_allocs;
};

static struct moment *moments;

static void specimen_sites(struct specimen *f)
{
        specimen_open(f);
        for (uint32_t i = 1; i <= SITES; i++)
                specimen_site(f, specimen_node(f, 0, 0x1000 + i), LEDGER_KIND_MALLOC);
        specimen_slot(f, 0);
        specimen_slot(f, 0);
}

static void cut(struct specimen *f, struct slices *s, uint64_t ms, bool whole)
{
        struct view v = specimen_view(f);

        s->detail_next_ms = 0; /* however long the last one took */
        slices_cut(s, &v, ms, 4096 * ms, whole);
        view_close(&v);
}

/* Before it is time to look at the sites again. */
static void cut_totals(struct specimen *f, struct slices *s, uint64_t ms)
{
        struct view v = specimen_view(f);

        s->detail_next_ms = UINT64_MAX;
        slices_cut(s, &v, ms, 4096 * ms, false);
        view_close(&v);
}

/* Some sites change in each step; frees are counted in another slot than the allocation if there is
 * one. */
static void step(struct specimen *f, uint64_t *seed, const struct moment *before,
                 struct moment *now)
{
        *now = *before;
        for (int i = 0; i < 5; i++) {
                uint32_t site = 1 + (uint32_t)(specimen_random(seed) % SITES);
                uint64_t count = specimen_random(seed) % 4;
                uint64_t frees = now->blocks[site] ? specimen_random(seed) % (now->blocks[site] + 1)
                                                   : 0;

                specimen_events(f, 0, site, count, 0, 10 * site);
                specimen_events(f, f->head->slot_count - 1, site, 0, frees, 10 * site);
                now->blocks[site] += count - frees;
                now->bytes[site] += (count - frees) * 10 * site;
                now->allocs[site] += count;
                now->all_blocks += count - frees;
                now->all_bytes += (count - frees) * 10 * site;
                now->all_allocs += count;
        }
}

/* A second thread comes at moment SECOND. */
static void run_joined(struct slices *s, uint32_t second)
{
        struct specimen f;
        uint64_t seed = 7;
        struct moment none = { 0 };

        moments = heap_zero(MOMENTS, sizeof *moments);
        specimen_sites(&f);
        for (uint32_t i = 0; i < MOMENTS; i++) {
                f.head->slot_count = i < second ? 1 : 2;
                step(&f, &seed, i ? &moments[i - 1] : &none, &moments[i]);
                moments[i].ms = 20 * i;
                cut(&f, s, moments[i].ms, false);
        }
        specimen_close(&f);
}

static void run(struct slices *s)
{
        run_joined(s, 0);
}

static void store(struct slices *s, struct profile *p, const uint32_t *map, uint32_t sites)
{
        *p = (struct profile){ 0 };
        p->site_count = sites + 1;
        p->sites = heap_zero(p->site_count, sizeof *p->sites);
        slices_store(s, map, SITES + 1, p);
}

static void compare_slice(const struct profile *p, const struct profile_slice *s)
{
        const struct moment
                *m = &moments[s->ms / 20],
                *sites = &moments[p->slices[profile_detail(p, (uint32_t)(s - p->slices))].ms / 20];
        struct profile_change *at = heap_zero(p->site_count, sizeof *at);
        uint32_t wrong = 0;

        is_equal(s->live_bytes, m->all_bytes);
        is_equal(s->live_blocks, m->all_blocks);
        is_equal(s->allocs, m->all_allocs);
        is_equal(s->rss_bytes, 4096 * s->ms);
        is_true(profile_at(p, s->ms, at));
        for (uint32_t i = 1; i <= SITES; i++)
                wrong += at[i].live_bytes != sites->bytes[i] ||
                         at[i].live_blocks != sites->blocks[i] ||
                         at[i].allocs != sites->allocs[i] ||
                         at[i].alloc_bytes != sites->allocs[i] * 10 * i;
        is_equal(wrong, 0);
        free(at);
}

static void identity(uint32_t *map)
{
        for (uint32_t i = 0; i <= SITES; i++)
                map[i] = i;
}

static void check_all(struct slices *s)
{
        struct profile p;
        uint32_t map[SITES + 1];

        identity(map);
        store(s, &p, map, SITES);
        for (uint32_t i = 0; i < p.slice_count; i++)
                compare_slice(&p, &p.slices[i]);
        is_equal(p.slices[0].ms, 0);
        is_equal(p.slices[p.slice_count - 1].ms, moments[MOMENTS - 1].ms);
        profile_free(&p);
        free(moments);
        slices_free(s);
}

TEST(a_thinned_course_is_exact_at_every_moment_it_keeps)
{
        struct slices s = { .slices_max = 50 };

        run(&s);
        is_true(s.slice_count <= 50 && s.slice_count > 25);
        check_all(&s);
}

TEST(a_course_is_exact_while_a_thread_is_alone_and_after)
{
        struct slices alone = { .slices_max = 50 }, joined = { .slices_max = 50 };

        run_joined(&alone, MOMENTS);
        check_all(&alone);
        run_joined(&joined, MOMENTS / 2);
        check_all(&joined);
}

TEST(thinning_doubles_the_interval)
{
        struct slices s = { .slices_max = 50 };

        run(&s);
        is_true(s.interval_ms >= SLICES_INTERVAL_MS * 8);
        is_equal(s.interval_ms % (SLICES_INTERVAL_MS * 8), 0);
        free(moments);
        slices_free(&s);
}

/* A look at each millisecond, as if none cost anything. */
TEST(short_runs_have_as_many_totals_as_long_ones)
{
        struct slices s = { 0 };
        struct specimen f;

        specimen_sites(&f);
        for (uint64_t ms = 0; ms <= 20000; ms++) {
                if (slices_due(&s, ms)) {
                        s.cost_ns = 0;
                        cut_totals(&f, &s, ms);
                }
                if (ms == 100)
                        is_true(s.slice_count >= 75);
                if (ms >= 600 && ms % 100 == 0)
                        is_true(s.slice_count >= 200 && s.slice_count <= SLICES_MAX);
        }
        slices_free(&s);
        specimen_close(&f);
}

TEST(too_many_changes_thin_the_course_and_keep_it_exact)
{
        struct slices s = { .changes_max = 600 };

        run(&s);
        is_true(s.change_count <= 600);
        is_true(s.slice_count > 3);
        check_all(&s);
}

/* Every EVERYth moment tells of sites. */
static void run_sparse(struct slices *s, uint32_t every)
{
        struct specimen f;
        uint64_t seed = 11;
        struct moment none = { 0 };

        moments = heap_zero(MOMENTS, sizeof *moments);
        specimen_sites(&f);
        for (uint32_t i = 0; i < MOMENTS; i++) {
                step(&f, &seed, i ? &moments[i - 1] : &none, &moments[i]);
                moments[i].ms = 20 * i;
                if (i % every)
                        cut_totals(&f, s, moments[i].ms);
                else
                        cut(&f, s, moments[i].ms, false);
        }
        specimen_close(&f);
}

static uint32_t count_details(const struct slices *s)
{
        uint32_t count = 0;

        for (uint32_t i = 0; i < s->slice_count; i++)
                count += !(s->slice[i].flags & PROFILE_SLICE_TOTALS);
        return count;
}

TEST(totals_are_many_however_seldom_sites_are_looked_at)
{
        struct slices s = { .slices_max = 300 };

        run_sparse(&s, 60);
        is_true(s.slice_count > 150 && s.slice_count <= 300);
        is_equal(count_details(&s), (MOMENTS + 59) / 60);
        check_all(&s);
}

TEST(too_many_changes_cost_sites_and_no_totals)
{
        struct slices s = { .slices_max = 300, .changes_max = 200 };

        run_sparse(&s, 3);
        is_true(s.slice_count > 150);
        is_true(s.change_count <= 200 && count_details(&s) > 1);
        check_all(&s);
}

/* An idle thread's counters are not read again: only what the totals do not show could be missed,
 * until all are read. */
TEST(threads_without_events_cost_nothing)
{
        struct specimen f;
        struct slices s = { 0 };

        specimen_sites(&f);
        specimen_events(&f, 0, 1, 3, 0, 100);
        specimen_events(&f, 1, 2, 3, 0, 100);
        cut(&f, &s, 0, false);
        specimen_counter(&f, 1, 7)->allocs = 1;
        specimen_events(&f, 0, 1, 1, 0, 100);
        cut(&f, &s, 20, false);
        is_equal(s.slice[1].change_count, 1);
        is_equal(s.change[s.slice[1].change_first].site, 1);
        is_equal(s.change[s.slice[1].change_first].live_blocks, 4);
        cut(&f, &s, 40, true);
        is_equal(s.slice[2].change_count, 1);
        is_equal(s.change[s.slice[2].change_first].site, 7);
        slices_free(&s);
        specimen_close(&f);
}

TEST(sites_that_become_one_are_summed_at_each_moment)
{
        struct slices s = { .slices_max = 30 };
        struct profile p;
        struct profile_change at[3];
        uint32_t map[SITES + 1];
        uint64_t odd = 0, even = 0;

        run(&s);
        for (uint32_t i = 0; i <= SITES; i++) {
                map[i] = i ? 1 + i % 2 : 0;
                *(i % 2 ? &odd : &even) += i ? moments[MOMENTS - 1].bytes[i] : 0;
        }
        store(&s, &p, map, 2);
        is_true(profile_at(&p, UINT64_MAX, at));
        is_equal(at[1].live_bytes, even);
        is_equal(at[2].live_bytes, odd);
        profile_free(&p);
        free(moments);
        slices_free(&s);
}

TEST(an_idle_program_costs_no_changes)
{
        struct specimen f;
        struct slices s = { 0 };

        specimen_sites(&f);
        specimen_events(&f, 0, 1, 3, 0, 100);
        cut(&f, &s, 0, false);
        is_equal(s.change_count, 1);
        for (int i = 1; i < 20; i++)
                cut(&f, &s, 20u * (uint64_t)i, false);
        is_equal(s.slice_count, 20);
        is_equal(s.change_count, 1);
        slices_free(&s);
        specimen_close(&f);
}

/* mmap does not count in a slot's totals: only a whole cut looks at it. */
TEST(the_last_cut_sees_what_the_totals_do_not_show)
{
        struct specimen f;
        struct slices s = { 0 };

        specimen_sites(&f);
        cut(&f, &s, 0, false);
        specimen_counter(&f, 0, 5)->allocs = 1;
        specimen_counter(&f, 0, 5)->alloc_bytes = 8192;
        cut(&f, &s, 20, true);
        is_equal(s.slice[1].change_count, 1);
        is_equal(s.change[0].site, 5);
        is_equal(s.change[0].live_bytes, 8192);
        slices_free(&s);
        specimen_close(&f);
}

TEST(live_numbers_never_show_below_zero)
{
        struct specimen f;
        struct slices s = { 0 };

        specimen_sites(&f);
        specimen_events(&f, 0, 2, 1, 3, 64); /* read between two words of an event */
        cut(&f, &s, 0, true);
        is_equal(s.slice[0].live_blocks, 0);
        is_equal(s.slice[0].live_bytes, 0);
        is_equal(s.change[0].live_bytes, 0);
        slices_free(&s);
        specimen_close(&f);
}

TEST(time_does_not_run_backwards)
{
        struct specimen f;
        struct slices s = { 0 };

        specimen_sites(&f);
        cut(&f, &s, 100, false);
        cut(&f, &s, 50, false);
        is_equal(s.slice[1].ms, 100);
        slices_free(&s);
        specimen_close(&f);
}

/* ---- marks ---- */

/* SEQ 0: a tag. */
static void mark(struct specimen *f, struct slices *s, uint64_t ms, uint32_t seq)
{
        struct profile_mark m = { .type = seq ? LEDGER_MARK_SNAPSHOT : LEDGER_MARK_TAG,
                                  .seq = seq,
                                  .ms = ms,
                                  .label = heap_text("m") };
        struct view v = specimen_view(f);

        slices_mark(s, &v, ms, 4096 * ms, &m, 1);
        view_close(&v);
}

/* Every EVERYth moment is marked, as a snapshot or a tag in turn. */
static void run_marked(struct slices *s, uint32_t every)
{
        struct specimen f;
        uint64_t seed = 3;
        struct moment none = { 0 };
        uint32_t seq = 0;

        moments = heap_zero(MOMENTS, sizeof *moments);
        specimen_sites(&f);
        for (uint32_t i = 0; i < MOMENTS; i++) {
                step(&f, &seed, i ? &moments[i - 1] : &none, &moments[i]);
                moments[i].ms = 20 * i;
                if (i % every == every / 2)
                        mark(&f, s, moments[i].ms, i / every % 2 ? ++seq : 0);
                else
                        cut(&f, s, moments[i].ms, false);
        }
        specimen_close(&f);
}

static void check_marks(struct slices *s)
{
        struct profile p;
        uint32_t map[SITES + 1];

        identity(map);
        store(s, &p, map, SITES);
        for (uint32_t i = 0; i < p.mark_count; i++)
                is_equal(p.slices[p.marks[i].slice].ms, p.marks[i].ms);
        for (uint32_t i = 0; i < p.slice_count; i++)
                compare_slice(&p, &p.slices[i]);
        profile_free(&p);
        free(moments);
        slices_free(s);
}

TEST(the_slice_of_a_mark_is_never_thinned_out)
{
        struct slices s = { .slices_max = 20 };

        run_marked(&s, 70);
        is_equal(s.mark_count, 10);
        is_equal(s.marked_slices, 10);
        is_true(s.slice_count > 20 && s.slice_count <= 30);
        is_equal(s.marks_lost, 0);
        check_marks(&s);
}

TEST(too_many_changes_of_marks_cost_tags_first)
{
        struct slices s = { .changes_max = 520 };
        uint32_t snapshots = 0;

        run_marked(&s, 3);
        for (uint32_t i = 0; i < s.mark_count; i++)
                snapshots += s.mark[i].seq != 0;
        is_true(s.marks_lost > 10);
        is_equal(s.marks_lost + s.mark_count, (MOMENTS + 1) / 3);
        is_equal(snapshots, (MOMENTS + 1) / 6);
        check_marks(&s);
}

TEST(marks_cannot_make_the_course_grow_without_bound)
{
        struct slices s = { .changes_max = 100 };

        run_marked(&s, 3);
        is_true(s.marks_lost > 0 && s.mark_count > 1);
        is_equal(s.marks_lost + s.mark_count, (MOMENTS + 1) / 3);
        is_true(s.change_count <= 100 * (SLICES_MARKED_SHARE + 2));
        check_marks(&s);
}

TEST(marks_seen_together_share_a_slice)
{
        struct specimen f;
        struct slices s = { 0 };
        struct profile_mark m[] = { { .label = heap_text("a") }, { .label = heap_text("b") } };
        struct view v;

        specimen_sites(&f);
        v = specimen_view(&f);
        slices_mark(&s, &v, 10, 0, m, 2);
        is_equal(s.slice_count, 1);
        is_equal(s.marked_slices, 1);
        is_true(s.mark_count == 2 && s.mark[0].slice == 0 && s.mark[1].slice == 0);
        is_text(s.mark[1].label, "b");
        slices_free(&s);
        view_close(&v);
        specimen_close(&f);
}

TEST(more_marks_than_a_ledger_holds_are_counted)
{
        struct specimen f;
        struct slices s = { 0 };
        struct profile_mark *m = heap_zero(LEDGER_MARKS_MAX + 5, sizeof *m);
        struct view v;

        specimen_sites(&f);
        v = specimen_view(&f);
        for (uint32_t i = 0; i < LEDGER_MARKS_MAX + 5; i++)
                m[i].label = heap_text("");
        slices_mark(&s, &v, 10, 0, m, LEDGER_MARKS_MAX + 5);
        is_equal(s.mark_count, LEDGER_MARKS_MAX);
        is_equal(s.marks_lost, 5);
        slices_free(&s);
        free(m);
        view_close(&v);
        specimen_close(&f);
}

TAP_MAIN(a_thinned_course_is_exact_at_every_moment_it_keeps,
         a_course_is_exact_while_a_thread_is_alone_and_after, thinning_doubles_the_interval,
         short_runs_have_as_many_totals_as_long_ones,
         too_many_changes_thin_the_course_and_keep_it_exact,
         totals_are_many_however_seldom_sites_are_looked_at,
         too_many_changes_cost_sites_and_no_totals, threads_without_events_cost_nothing,
         sites_that_become_one_are_summed_at_each_moment, an_idle_program_costs_no_changes,
         the_last_cut_sees_what_the_totals_do_not_show, live_numbers_never_show_below_zero,
         time_does_not_run_backwards, the_slice_of_a_mark_is_never_thinned_out,
         too_many_changes_of_marks_cost_tags_first, marks_cannot_make_the_course_grow_without_bound,
         marks_seen_together_share_a_slice, more_marks_than_a_ledger_holds_are_counted)
