/* SPDX-License-Identifier: MIT */
#include "top/picture.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/heap.h"
#include "profile/key.h"
#include "profile/packed.h"
#include "query/select.h"
#include "top/figure.h"

enum { KEY_SITE = 1, KEY_THREAD, KEY_SIZE }; /* what a key is of */

/* ---- numbers ---- */

uint32_t *picture_numbers(struct history *history, const struct profile *p)
{
        uint32_t *numbers = heap_zero(p->site_count, sizeof *numbers);
        uint64_t *keys = key_of_nodes(p);

        for (uint32_t i = 0; i < p->site_count; i++)
                numbers[i] = history_number(
                        history,
                        key_add(key_add(keys[p->sites[i].node], p->sites[i].kind), KEY_SITE));
        free(keys);
        return numbers;
}

uint32_t picture_thread(struct history *history, const struct profile_thread *thread)
{
        return history_number(history, key_add(key_add_text(0, thread->name ? thread->name : ""),
                                               KEY_THREAD));
}

uint32_t picture_size(struct history *history, int power)
{
        return history_number(history, key_add((uint64_t)power, KEY_SIZE));
}

static int picture_power(uint64_t size)
{
        return size > 1 ? 64 - __builtin_clzll(size - 1) : 0;
}

/* ---- moments ---- */

static struct profile_slice sum_of_end(const struct profile *p)
{
        const struct profile_totals *t = &p->totals;

        return (struct profile_slice){
                .ms = p->meta.duration_ms, .live_bytes = t->live_bytes,
                .live_blocks = t->live_blocks, .allocs = t->allocations,
                .alloc_bytes = t->bytes_allocated, .frees = t->frees,
                .rss_bytes = p->slice_count ? p->slices[p->slice_count - 1].rss_bytes : 0 };
}

/* What some threads did, which a selection knows. */
static void add_rows_of_threads(struct history_moment *m, const struct profile *p,
                                const uint32_t *numbers, struct filter *threads)
{
        struct select_request request = { .cost = SELECT_LIVE, .filter = threads,
                                          .each_site = true };
        struct selection sel;
        struct err e;

        filter_forget(threads);
        /* Without expressions on names nobody asks the resolver. */
        if (select_make(&sel, p, NULL, &request, &e))
                for (uint32_t i = 0; i < sel.heap.count; i++) {
                        const struct select_row *row = &sel.heap.rows[i];

                        *history_place(m, numbers[row->site]) = (struct history_numbers){
                                row->live_bytes, row->live_blocks, row->allocs, HISTORY_UNKNOWN };
                }
        select_free(&sel);
}

static void add_sites(struct history_moment *m, const struct profile *p, const uint32_t *numbers)
{
        for (uint32_t i = 1; i < p->site_count; i++)
                *history_place(m, numbers[i]) = (struct history_numbers){ p->sites[i].live_bytes,
                                                                          p->sites[i].live_blocks,
                                                                          p->sites[i].allocs,
                                                                          HISTORY_UNKNOWN };
}

/* Blocks of a thread, a size or a site, while they are added up. */
struct births {
        double sum, blocks;
};

struct adding {
        struct history_moment *m;
        const struct profile *p;
        struct births *births; /* by number */
        uint32_t count;
};

/* COUNT: the moment does not have the block yet, as it has those of sites. */
static void add_block(struct adding *a, uint32_t number, const struct profile_block *block,
                      bool count)
{
        struct history_numbers *n = history_place(a->m, number);
        uint64_t times = profile_block_times(a->p, block);

        a->births[number].sum += (double)block->birth_ms * (double)times;
        a->births[number].blocks += (double)times;
        if (count) {
                n->live_bytes += block->size * times;
                n->live_blocks += times;
        }
}

static void settle_births(const struct adding *a)
{
        for (uint32_t i = 0; i < a->count; i++)
                if (a->births[i].blocks > 0)
                        history_place(a->m, i)->birth_ms = (uint64_t)(a->births[i].sum /
                                                                      a->births[i].blocks);
}

static void add_blocks(struct history_moment *m, struct history *history, const struct profile *p,
                       const uint32_t *numbers)
{
        uint32_t sizes[65], *threads = heap_zero(p->thread_count, sizeof *threads);
        struct adding a = { .m = m, .p = p };
        struct packed_walk w;

        for (int power = 0; power <= 64; power++)
                sizes[power] = picture_size(history, power);
        for (uint32_t i = 0; i < p->thread_count; i++)
                threads[i] = picture_thread(history, &p->threads[i]);
        a.count = history->numbers.table.count; /* all that are used below have their number */
        a.births = heap_zero(a.count, sizeof *a.births);
        packed_open(&w, p);
        while (packed_next(&w)) {
                const struct profile_block *block = w.block;

                if (block->site >= p->site_count || block->thread >= p->thread_count)
                        continue;
                add_block(&a, numbers[block->site], block, false);
                add_block(&a, threads[block->thread], block, true);
                add_block(&a, sizes[picture_power(block->size)], block, true);
        }
        packed_close(&w);
        settle_births(&a);
        free(a.births);
        free(threads);
}

struct history_moment picture_of_end(struct history *history, const struct profile *p,
                                     const uint32_t *numbers, struct filter *threads)
{
        struct history_moment m = { .ms = p->meta.duration_ms, .sum = sum_of_end(p) };

        m.blocks = p->block_count || !p->totals.live_blocks;
        if (threads)
                add_rows_of_threads(&m, p, numbers, threads);
        else
                add_sites(&m, p, numbers);
        for (uint32_t i = 1; i < p->thread_count; i++)
                history_place(&m, picture_thread(history, &p->threads[i]))->allocs +=
                        p->threads[i].allocations;
        if (p->block_count)
                add_blocks(&m, history, p, numbers);
        return m;
}

struct history_moment picture_of_slice(const struct profile *p, const uint32_t *numbers, uint32_t i)
{
        struct history_moment m = { .ms = p->slices[i].ms, .sum = p->slices[i] };
        struct profile_change *then = heap_zero(p->site_count, sizeof *then);

        if (profile_at_slice(p, i, then))
                for (uint32_t site = 1; site < p->site_count; site++)
                        *history_place(&m, numbers[site]) = (struct history_numbers){
                                then[site].live_bytes, then[site].live_blocks, then[site].allocs,
                                HISTORY_UNKNOWN };
        free(then);
        return m;
}

/* ---- words ---- */

void picture_since(struct picture *c)
{
        uint64_t span = c->then && c->now->ms > c->then->ms ? c->now->ms - c->then->ms : 0;
        struct str text = { 0 };

        if (c->then && !c->then->ms && !c->then->count)
                str_text(&text, "start");
        else if (span + HISTORY_STEP_MS >= HISTORY_SPAN_MS &&
                 span < HISTORY_SPAN_MS + 2 * HISTORY_STEP_MS)
                str_text(&text, "60s");
        else
                figure_age(&text, span);
        snprintf(c->since, sizeof c->since, "%s", str_get(&text));
        str_free(&text);
}
