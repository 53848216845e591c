/* SPDX-License-Identifier: MIT */
/*
 * summary_places.c -- the places that hold most; stacks that look the same on one line are merged.
 *
 * Keeps:  what a line says is what all stacks of its place have, so that it agrees with the tree.
 * Cost:   stacks below a thousandth of the whole are not named: at most a thousand are.
 */
#include "report/summary_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/table.h"
#include "ledger/ledger.h"
#include "profile/reserve.h"

enum { PLACE_COLUMNS = 4096, PLACE_LEAST = 1024 };

struct place {
        char *line;
        struct summary_top top;
        uint64_t largest; /* stack in it */
};

struct places {
        struct place *list;
        struct table table;
};

static struct leaks_sum place_sum(const struct profile_site *site, enum summary_measure measure)
{
        if (measure == SUMMARY_MAPPED ? !LEDGER_KIND_IS_MAPPED(site->kind)
                                      : !PROFILE_KIND_IS_COUNTED(site->kind))
                return (struct leaks_sum){ 0, 0 };
        return measure == SUMMARY_AT_PEAK ? (struct leaks_sum){ site->peak_blocks,
                                                                site->peak_bytes }
                                          : (struct leaks_sum){ site->live_blocks,
                                                                site->live_bytes };
}

static void place_add(struct places *places, const char *line, const struct summary_top *top)
{
        uint32_t count = places->table.count,
                 n = TABLE_NUMBER(&places->table, table_hash_text(line), i,
                                  strcmp(places->list[i].line, line) == 0);
        struct place *place;

        if (n == count) {
                places->list = heap_next(places->list, count, sizeof *places->list);
                places->list[n] = (struct place){ heap_text(line), { .site = top->site }, 0 };
        }
        place = &places->list[n];
        place->top.left.blocks += top->left.blocks;
        place->top.left.bytes += top->left.bytes;
        if (top->left.bytes > place->largest) {
                place->largest = top->left.bytes;
                place->top.site = top->site;
        }
}

static int place_compare(const void *a, const void *b)
{
        const struct summary_top *x = &((const struct place *)a)->top,
                                 *y = &((const struct place *)b)->top;

        if (x->left.bytes != y->left.bytes)
                return x->left.bytes < y->left.bytes ? 1 : -1;
        return x->site < y->site ? -1 : 1;
}

uint32_t summary_places(struct summary *m, enum summary_measure measure,
                        struct summary_top top[SUMMARY_TOP])
{
        struct places places = { 0 };
        struct str text = { 0 };
        struct lookup known = { 0 };
        bool *stacks = reserve_stacks(m->p);
        struct stack_line line = { .profile = m->p, .symbols = m->symbols, .out = &text,
                                           .columns = PLACE_COLUMNS, .known = &known };
        uint64_t all = 0;
        uint32_t count;

        for (uint32_t i = 1; i < m->p->site_count; i++)
                all += place_sum(&m->p->sites[i], measure).bytes;
        for (uint32_t i = 1; i < m->p->site_count; i++) {
                struct summary_top one = { .site = i,
                                           .left = place_sum(&m->p->sites[i], measure) };

                if ((!one.left.blocks && !one.left.bytes) ||
                    one.left.bytes < all / PLACE_LEAST || stacks[i])
                        continue;
                str_clear(&text);
                stack_line_stack(&line, m->p->sites[i].node, 0);
                place_add(&places, str_get(&text), &one);
        }
        count = places.table.count;
        if (count)
                qsort(places.list, count, sizeof *places.list, place_compare);
        for (uint32_t i = 0; i < count; i++) {
                if (i < SUMMARY_TOP)
                        top[i] = places.list[i].top;
                free(places.list[i].line);
        }
        free(places.list);
        table_free(&places.table);
        free(stacks);
        lookup_free(&known);
        str_free(&text);
        return count < SUMMARY_TOP ? count : SUMMARY_TOP;
}
