/* SPDX-License-Identifier: MIT */
/*
 * test_hostile.c -- ledgers of a program that means harm, or is broken.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/heap.h"
#include "collect/collect.h"
#include "collect/marks.h"
#include "profile/model.h"
#include "specimen.h"
#include "tap.h"

static bool is_kind(const struct profile *p, uint32_t kind)
{
        return kind < LEDGER_KIND_COUNT ||
               (LEDGER_KIND_IS_RESOURCE(kind) && kind - LEDGER_KIND_TYPE_FIRST < p->type_count);
}

static uint64_t wrong_marks(const struct profile *p)
{
        uint64_t wrong = 0;

        for (uint32_t i = 0; i < p->mark_count; i++)
                wrong += p->marks[i].slice >= p->slice_count ||
                         p->marks[i].thread >= p->thread_count || !p->marks[i].label ||
                         p->marks[i].type > LEDGER_MARK_OUTSIDE;
        for (uint32_t i = 0; i < p->death_count; i++)
                wrong += p->deaths[i].site >= p->site_count || !p->deaths[i].birth ||
                         p->deaths[i].birth > p->deaths[i].death ||
                         (i && profile_compare_deaths(&p->deaths[i - 1], &p->deaths[i]) >= 0);
        for (uint32_t i = 0; i < p->handle_count; i++)
                wrong += p->handles[i].site >= p->site_count ||
                         p->handles[i].thread >= p->thread_count ||
                         !LEDGER_KIND_IS_RESOURCE(p->sites[p->handles[i].site].kind);
        for (uint32_t i = 0; i < p->type_count; i++)
                wrong += !p->types[i];
        return wrong;
}

static void check_ranges(const struct profile *p)
{
        uint64_t wrong = wrong_marks(p);

        for (uint32_t i = 2; i < p->node_count; i++)
                wrong += p->nodes[i].parent >= i || (p->nodes[i].module >= p->module_count &&
                                                     p->nodes[i].module != PROFILE_NO_MODULE);
        for (uint32_t i = 1; i < p->site_count; i++)
                wrong += p->sites[i].node >= p->node_count || !is_kind(p, p->sites[i].kind);
        for (uint32_t i = 0; i < p->share_count; i++)
                wrong += p->shares[i].site >= p->site_count ||
                         p->shares[i].thread >= p->thread_count;
        for (uint64_t i = 0; i < p->block_count; i++)
                wrong += p->blocks[i].site >= p->site_count ||
                         p->blocks[i].thread >= p->thread_count ||
                         (i && p->blocks[i].address < p->blocks[i - 1].address);
        for (uint32_t i = 0; i < p->region_count; i++)
                wrong += p->regions[i].site >= p->site_count ||
                         p->regions[i].thread >= p->thread_count;
        for (uint32_t i = 0; i < p->error_count; i++)
                wrong += p->errors[i].node >= p->node_count ||
                         p->errors[i].alloc_site >= p->site_count ||
                         p->errors[i].thread >= p->thread_count;
        for (uint32_t i = 0; i < p->slice_count; i++)
                wrong += (uint64_t)p->slices[i].change_first + p->slices[i].change_count >
                         p->change_count;
        for (uint32_t i = 0; i < p->change_count; i++)
                wrong += p->changes[i].site >= p->site_count;
        is_equal(wrong, 0);
}

/* Numbers as an attacker would choose them: small, near limits, or anything. */
static uint64_t nasty(uint64_t *seed)
{
        uint64_t r = specimen_random(seed);

        switch (r % 5) {
        case 0:
                return r >> 60;
        case 1:
                return UINT64_MAX - (r >> 60);
        case 2:
                return UINT32_MAX - (r >> 60);
        case 3:
                return specimen_random(seed) % 3000;
        default:
                return specimen_random(seed);
        }
}

static void fill_part(struct specimen *f, enum ledger_part part, uint32_t bytes, uint64_t *seed)
{
        uint32_t *words = specimen_part(f, part);

        for (uint32_t i = 0; i < bytes / 4; i++)
                words[i] = (uint32_t)nasty(seed);
}

static void spoil_head(struct ledger_head *h, uint64_t *seed)
{
        uint32_t *counts = &h->node_count;

        for (int i = 0; i < 12; i++)
                if (specimen_random(seed) % 2)
                        counts[i] = (uint32_t)nasty(seed);
        for (uint32_t *at = &h->mark_count; at <= &h->limit_hits; at++)
                if (specimen_random(seed) % 4 == 0)
                        *at = (uint32_t)nasty(seed);
        for (int i = 0; i < LEDGER_PARTS; i++)
                if (specimen_random(seed) % 8 == 0) {
                        uint64_t *x = &h->part[i].offset;

                        x[specimen_random(seed) % 3] = nasty(seed);
                }
        if (specimen_random(seed) % 4 == 0)
                memset(h->exe, 'x', sizeof h->exe);
        if (specimen_random(seed) % 4 == 0)
                h->command_bytes = (uint32_t)nasty(seed);
        memset(h->command, 'y', sizeof h->command);
}

static void specimen_hostile(struct specimen *f, uint64_t *seed)
{
        specimen_tree(f, 50);
        for (int i = LEDGER_NODES; i < LEDGER_PARTS; i++)
                if (specimen_random(seed) % 2)
                        fill_part(f, (enum ledger_part)i, 16384, seed);
        f->head->slot_count = 3;
        f->head->shadow_chunk_count = 3;
        f->head->region_count = f->head->error_count = f->head->module_count = 100;
        f->head->thread_count = 100;
        f->head->string_bytes = 10000;
        f->head->mark_count = f->head->handle_count = 100;
        f->head->type_count = 50;
        f->head->several = specimen_random(seed) % 2;
        spoil_head(f->head, seed);
}

/* As the observer does it: all marks that are ready. */
static void take_marks(struct slices *s, const struct view *v)
{
        struct profile_mark *marks = heap_zero(LEDGER_MARKS_MAX, sizeof *marks);
        uint32_t count = 0;

        for (uint32_t i = 0; i < v->head.mark_count && i < LEDGER_MARKS_MAX; i++)
                count += marks_read(v, i, &marks[count]);
        slices_mark(s, v, 10, 0, marks, count);
        free(marks);
}

static void survive(uint64_t seed)
{
        struct specimen f;
        struct slices s = { .slices_max = 8 };
        struct collect_input in = { .slices = &s, .depth = (uint32_t)(seed % 3), .ended = true };
        struct profile p;
        struct view v;

        specimen_hostile(&f, &seed);
        v = specimen_view(&f);
        slices_cut(&s, &v, 0, 0, true);
        fill_part(&f, LEDGER_COUNTERS, 65536, &seed);
        take_marks(&s, &v);
        slices_cut(&s, &v, 20, 0, true);
        in.view = &v;
        collect(&in, &p);
        check_ranges(&p);
        profile_free(&p);
        slices_free(&s);
        view_close(&v);
        specimen_close(&f);
}

TEST(no_ledger_however_wrong_leads_out_of_its_tables)
{
        for (uint64_t seed = 1; seed <= 150; seed++)
                survive(seed * 7919);
}

TEST(a_ledger_that_shrinks_while_it_is_read_reads_as_zero)
{
        struct specimen f;
        struct profile p;
        struct view v;
        struct collect_input in = { .ended = true };

        specimen_tree(&f, 100);
        v = specimen_view(&f);
        in.view = &v;
        is_equal(ftruncate(f.fd, 4096), 0);
        collect(&in, &p);
        check_ranges(&p);
        is_equal(p.totals.allocations, 0);
        profile_free(&p);
        view_close(&v);
        specimen_close(&f);
}

TEST(what_is_no_ledger_is_refused)
{
        struct specimen f;
        struct err e = { 0 };
        struct view v;
        int pipes[2];

        specimen_open(&f);
        f.head->version = LEDGER_VERSION + 1;
        is_true(!view_open(&v, dup(f.fd), &e));
        has_text(e.text, "version");
        f.head->magic = 1;
        is_true(!view_open(&v, dup(f.fd), &e));
        has_text(e.text, "not a ledger");
        is_equal(ftruncate(f.fd, 100), 0);
        is_true(!view_open(&v, dup(f.fd), &e));
        has_text(e.text, "too short");
        is_equal(pipe(pipes), 0);
        is_true(!view_open(&v, pipes[0], &e));
        close(pipes[1]);
        specimen_close(&f);
}

TAP_MAIN(no_ledger_however_wrong_leads_out_of_its_tables,
         a_ledger_that_shrinks_while_it_is_read_reads_as_zero, what_is_no_ledger_is_refused)
