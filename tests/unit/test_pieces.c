/* SPDX-License-Identifier: MIT */
/* test_pieces.c -- what stacks held over time: the moments of several sites summed, and pieces that
 * add up to them. */
#include "export/pieces.h"

#include <stdlib.h>

#include "export/course.h"
#include "forge.h"
#include "sample.h"
#include "tap.h"

enum { SITES = 6, SLICES = 30, STACKS = 3 };

/* Sites 1 and 4, 2 and 5, 3 and 6 have equal stacks.  Each allocates and frees at random. */
static void forge_course(struct profile *p, uint64_t seed)
{
        uint64_t random = seed, total[SITES + 1] = { 0 }, live[SITES + 1] = { 0 },
                 before[SITES + 1] = { 0 };
        uint16_t m;

        forge_start(p);
        m = forge_module(p, "/bin/prog");
        for (uint32_t i = 0; i < STACKS; i++)
                forge_name(p, 0x100 * (i + 1), 0, i == 0 ? "a" : i == 1 ? "b" : "c", "/src/m.c", 5);
        for (uint32_t i = 0; i < SITES; i++)
                forge_site(p,
                           i < STACKS ? forge_node(p, 0, 0x100 * (i + 1), m)
                                      : p->sites[i - STACKS + 1].node,
                           i < STACKS ? LEDGER_KIND_MALLOC : LEDGER_KIND_CALLOC, 0, 0);
        for (uint32_t i = 0; i < SLICES; i++) {
                forge_slice(p, 10 * i);
                for (uint32_t site = 1; site <= SITES; site++) {
                        if (sample_random(&random) % 3 == 0)
                                continue;
                        live[site] += sample_random(&random) % 1000;
                        /* of which a thousand were freed again at once */
                        total[site] += live[site] - before[site] + 1000;
                        live[site] = before[site] = sample_random(&random) % (live[site] + 1);
                        forge_change(p, site, live[site], live[site] > 0, i, total[site]);
                }
        }
        for (uint32_t site = 1; site <= SITES; site++) {
                p->sites[site].alloc_bytes = total[site] + 50;
                p->sites[site].live_bytes = live[site] + 50;
        }
}

struct made {
        struct symbols *symbols;
        struct selection sel;
        struct export_input in;
        struct stack_costs stacks;
};

static void make(struct made *made, const struct profile *p)
{
        struct err e = { 0 };

        made->symbols = forge_symbols(p);
        is_true(select_make(&made->sel, p, made->symbols,
                            &(struct select_request){ .cost = SELECT_LIVE }, &e));
        made->in = (struct export_input){ .profile = p,
                                          .symbols = made->symbols,
                                          .sel = &made->sel };
        stack_costs_make(&made->stacks, &made->in, CALLTREE_BY_LINE);
        is_equal(made->stacks.sample_count, STACKS);
}

static void unmake(struct made *made)
{
        stack_costs_free(&made->stacks);
        select_free(&made->sel);
        symbols_free(made->symbols);
}

/* What is there at a moment, by the pieces. */
static uint64_t held(const struct pieces *pieces, uint32_t sample, uint32_t slice)
{
        uint64_t bytes = 0;

        for (uint32_t i = 0; i < pieces->count; i++)
                if (pieces->at[i].sample == sample && pieces->at[i].came <= slice &&
                    (pieces->at[i].went == PIECES_STAY || pieces->at[i].went > slice))
                        bytes += pieces->at[i].bytes;
        return bytes;
}

TEST(sums_are_those_of_the_sites_at_each_moment)
{
        struct profile p = { 0 };
        struct profile_change *truth;
        struct course course;
        struct made made;
        uint32_t *numbers;

        forge_course(&p, 1);
        make(&made, &p);
        numbers = course_samples(&made.stacks);
        truth = heap_zero(p.site_count, sizeof *truth);
        course_start(&course, &p, numbers, STACKS);
        for (uint32_t i = 0; i < SLICES; i++) {
                course_step(&course, i);
                is_true(profile_at_slice(&p, i, truth));
                for (uint32_t site = 1; site <= STACKS; site++) {
                        is_equal(course.sums[numbers[site]].live_bytes,
                                 truth[site].live_bytes + truth[site + STACKS].live_bytes);
                        is_equal(course.sums[numbers[site]].alloc_bytes,
                                 truth[site].alloc_bytes + truth[site + STACKS].alloc_bytes);
                }
        }
        course_free(&course);
        free(numbers);
        free(truth);
        unmake(&made);
        profile_free(&p);
}

TEST(pieces_add_up_to_what_was_allocated_and_to_what_was_live)
{
        const struct course_span run = { .last = SLICES, .whole = true, .to_end = true };

        for (uint64_t seed = 1; seed <= 20; seed++) {
                struct profile p = { 0 };
                struct profile_change *truth;
                struct pieces pieces;
                struct made made;
                uint32_t *numbers;

                forge_course(&p, seed);
                make(&made, &p);
                numbers = course_samples(&made.stacks);
                pieces_make(&pieces, &made.stacks, &run);
                truth = heap_zero(p.site_count, sizeof *truth);
                for (uint32_t i = 0; i < SLICES; i++) {
                        is_true(profile_at_slice(&p, i, truth));
                        for (uint32_t site = 1; site <= STACKS; site++)
                                is_equal(held(&pieces, numbers[site], i),
                                         truth[site].live_bytes + truth[site + STACKS].live_bytes);
                }
                for (uint32_t site = 1; site <= STACKS; site++) {
                        uint64_t came = 0;

                        for (uint32_t i = 0; i < pieces.count; i++)
                                came += pieces.at[i].sample == numbers[site] ? pieces.at[i].bytes
                                                                             : 0;
                        is_equal(came,
                                 p.sites[site].alloc_bytes + p.sites[site + STACKS].alloc_bytes);
                        is_equal(held(&pieces, numbers[site], SLICES),
                                 p.sites[site].live_bytes + p.sites[site + STACKS].live_bytes);
                }
                pieces_free(&pieces);
                free(numbers);
                free(truth);
                unmake(&made);
                profile_free(&p);
        }
}

TAP_MAIN(sums_are_those_of_the_sites_at_each_moment,
         pieces_add_up_to_what_was_allocated_and_to_what_was_live)
