/* SPDX-License-Identifier: MIT */
/*
 * test_survivors.c -- allocated after one mark and still live at another, against a program played
 * through by hand.
 *
 * The player keeps for every block when it was made and when it was freed; the truth is counted
 * from that, the profile gets only what a recording has: blocks alive at the end, and deaths by
 * era.
 */
#include "query/survivors.h"

#include "forge.h"
#include "tap.h"

enum { SITES = 4, STEPS = 400, MARKS = 9, NEVER = 1 << 30 };

struct life {
        uint32_t site, made, freed; /* steps; the block exists in [made, freed) */
        uint64_t size;
};

struct play {
        struct life lives[STEPS];
        uint32_t count;
        uint32_t marks[MARKS]; /* steps in front of which a mark was made */
        uint32_t mark_count;
};

static uint32_t chance(uint32_t *seed, uint32_t of)
{
        *seed = *seed * 1664525u + 1013904223u;
        return (*seed >> 8) % of;
}

static void play(struct play *w, uint32_t seed)
{
        *w = (struct play){ 0 };
        for (uint32_t step = 0; step < STEPS; step++) {
                if (step % 43 == 42 && w->mark_count < MARKS)
                        w->marks[w->mark_count++] = step;
                if (chance(&seed, 3) || !w->count) {
                        w->lives[w->count++] = (struct life){ 1 + chance(&seed, SITES), step, NEVER,
                                                              chance(&seed, 100) };
                } else {
                        struct life *l = &w->lives[chance(&seed, w->count)];

                        if (l->freed == NEVER)
                                l->freed = step;
                }
        }
}

/* Era of a step: how many marks lie before it. */
static uint32_t era(const struct play *w, uint32_t step)
{
        uint32_t e = 0;

        while (e < w->mark_count && w->marks[e] <= step)
                e++;
        return e;
}

static void record(const struct play *w, struct profile *p)
{
        forge_start(p);
        for (uint32_t i = 0; i < SITES; i++)
                forge_site(p, 0, LEDGER_KIND_MALLOC, 0, 0);
        for (uint32_t i = 0; i < w->mark_count; i++) {
                forge_slice(p, w->marks[i]);
                forge_mark(p, LEDGER_MARK_TAG, 0, "t");
        }
        for (uint32_t i = 0; i < w->count; i++) {
                const struct life *l = &w->lives[i];

                if (l->freed == NEVER)
                        forge_block(p, 0x1000 + 32 * i, l->size, l->site, 0, l->made);
                else if (era(w, l->made))
                        forge_death(p, l->site, era(w, l->made), era(w, l->freed), 1, l->size);
                p->totals.live_blocks += l->freed == NEVER;
        }
}

static struct select_row truth_of(const struct play *w, uint32_t site, uint32_t from, uint32_t to)
{
        struct select_row row = { 0 };

        for (uint32_t i = 0; i < w->count; i++) {
                const struct life *l = &w->lives[i];
                bool alive = l->freed >= to;

                if (l->site != site || l->made < from || l->made >= to)
                        continue;
                row.allocs++;
                row.alloc_bytes += l->size;
                row.live_blocks += alive;
                row.live_bytes += alive ? l->size : 0;
                row.frees += !alive;
        }
        return row;
}

static void compare(const struct play *w, const struct profile *p, const struct moment *from,
                    const struct moment *to)
{
        struct select_row *rows = heap_zero(p->site_count, sizeof *rows);

        is_true(survivors_known(p, from, to));
        rows[1].live_bytes = 12345; /* what a slice said before */
        survivors_count(rows, p, from, to);
        for (uint32_t site = 1; site <= SITES; site++) {
                struct select_row truth = truth_of(w, site, (uint32_t)from->ms,
                                                   to->type == MOMENT_END ? STEPS
                                                                          : (uint32_t)to->ms);

                is_equal(rows[site].live_bytes, truth.live_bytes);
                is_equal(rows[site].live_blocks, truth.live_blocks);
                is_equal(rows[site].allocs, truth.allocs);
                is_equal(rows[site].alloc_bytes, truth.alloc_bytes);
                is_equal(rows[site].frees, truth.frees);
        }
        free(rows);
}

TEST(survivors_are_exact_between_any_two_marks)
{
        for (uint32_t seed = 1; seed <= 20; seed++) {
                struct play w;
                struct profile p;

                play(&w, seed);
                record(&w, &p);
                for (uint32_t a = 0; a < w.mark_count; a++) {
                        struct moment from = { MOMENT_MARK, a, w.marks[a] };

                        for (uint32_t b = a; b < w.mark_count; b++)
                                compare(&w, &p, &from,
                                        &(struct moment){ MOMENT_MARK, b, w.marks[b] });
                        compare(&w, &p, &from, &(struct moment){ MOMENT_END, 0, UINT64_MAX });
                }
                profile_free(&p);
        }
}

TEST(times_and_marks_from_outside_do_not_tell)
{
        struct play w;
        struct profile p;
        struct moment mark = { MOMENT_MARK, 0, 0 }, end = { MOMENT_END, 0, UINT64_MAX },
                      time = { MOMENT_TIME, 0, 5 };

        play(&w, 1);
        record(&w, &p);
        is_true(survivors_known(&p, &mark, &end));
        is_true(!survivors_known(&p, &time, &end));
        is_true(!survivors_known(&p, &mark, &time));
        p.marks[0].era = 0;
        is_true(!survivors_known(&p, &mark, &end));
        profile_free(&p);
}

/* 100 bytes allocated before the tag and freed after it, 40 allocated after it: the change is -60,
 * 40 survived. */
static void freed_and_made(struct profile *p)
{
        forge_start(p);
        forge_site(p, 0, LEDGER_KIND_MALLOC, 40, 1);
        p->sites[1].allocs = 2;
        p->sites[1].alloc_bytes = 140;
        forge_slice(p, 5);
        forge_change(p, 1, 100, 1, 1, 100);
        forge_mark(p, LEDGER_MARK_TAG, 0, "t");
        forge_block(p, 0x1000, 40, 1, 0, 7);
        p->totals.live_blocks = 1;
}

static struct select_row selected(const struct profile *p, bool change, char *heading, size_t size)
{
        struct select_request request = { .from = { MOMENT_MARK, 0, 5 },
                                          .to = { MOMENT_END, 0, UINT64_MAX },
                                          .change = change };
        struct symbols *s = forge_symbols(p);
        struct selection sel;
        struct select_row row;
        struct err e = { 0 };

        is_true(select_make(&sel, p, s, &request, &e));
        is_equal(sel.heap.count, 1);
        row = sel.heap.rows[0];
        snprintf(heading, size, "%s", sel.heading);
        select_free(&sel);
        symbols_free(s);
        return row;
}

TEST(a_range_from_a_tag_shows_what_survived_and_on_demand_the_change)
{
        struct profile p;
        struct select_row row;
        char heading[192];

        freed_and_made(&p);
        row = selected(&p, false, heading, sizeof heading);
        is_equal(row.live_bytes, 40);
        is_equal(row.frees, 0);
        is_text(heading, "allocated from tag t to the end and still live then");
        row = selected(&p, true, heading, sizeof heading);
        is_equal(row.live_bytes, -60);
        is_equal(row.alloc_bytes, 40);
        is_text(heading, "change from tag t to the end");
        profile_free(&p);
}

/* Two handles and two regions, one of each older than the tag; one of each was given back after
 * it. */
TEST(of_handles_and_regions_those_count_that_came_after_the_tag_and_are_left)
{
        struct profile p;
        struct select_row rows[3] = { { 0 },
                                      { .allocs = 2, .live_blocks = 1 },
                                      { .allocs = 2, .live_blocks = 0 } };

        forge_start(&p);
        forge_site(&p, 0, LEDGER_KIND_MMAP, 0, 0);
        forge_site(&p, 0, LEDGER_KIND_TYPE_FIRST, 0, 0);
        forge_slice(&p, 5);
        forge_mark(&p, LEDGER_MARK_TAG, 0, "t");
        p.regions = heap_zero(2, sizeof *p.regions);
        p.regions[0] = (struct profile_region){
                .start = 0x1000, .end = 0x3000, .site = 1, .birth_ms = 4
        };
        p.regions[1] = (struct profile_region){
                .start = 0x5000, .end = 0x6000, .site = 1, .birth_ms = 5
        };
        p.region_count = 2;
        p.handles = heap_zero(2, sizeof *p.handles);
        p.handles[0] = (struct profile_handle){
                .handle = 3, .amount = 1, .site = 2, .birth_ms = 1
        };
        p.handles[1] = (struct profile_handle){
                .handle = 4, .amount = 7, .site = 2, .birth_ms = 9
        };
        p.handle_count = 2;
        survivors_count(rows, &p, &(struct moment){ MOMENT_MARK, 0, 5 },
                        &(struct moment){ MOMENT_END, 0, UINT64_MAX });
        is_equal(rows[1].live_blocks, 1);
        is_equal(rows[1].live_bytes, 0x1000);
        is_equal(rows[1].frees, 1);
        is_equal(rows[2].live_blocks, 1);
        is_equal(rows[2].live_bytes, 7);
        profile_free(&p);
}

TAP_MAIN(survivors_are_exact_between_any_two_marks, times_and_marks_from_outside_do_not_tell,
         a_range_from_a_tag_shows_what_survived_and_on_demand_the_change,
         of_handles_and_regions_those_count_that_came_after_the_tag_and_are_left)
