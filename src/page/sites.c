/* SPDX-License-Identifier: MIT */
/*
 * sites.c -- the call stacks that allocated, with all their numbers; where there are too many, the
 * small ones are summed.
 *
 * Keeps:  whatever is cut, the rows add up to the totals.
 */
#include <stdlib.h>

#include "base/heap.h"
#include "base/order.h"
#include "page/page_parts.h"
#include "report/stack_line.h"

enum { SITES_COSTS = 7 };

static const char sites_columns[] =
        "id node kind heap allocs frees alloc_bytes live_blocks live_bytes peak_blocks peak_bytes"
        " temporary lifetime_ms growth growth_bytes_per_hour definite_blocks definite_bytes"
        " indirect_blocks indirect_bytes possible_blocks possible_bytes reachable_blocks"
        " reachable_bytes place caller reserved";
enum {
        SITES_FIRST_SUM = 4,
        SITES_GROWTH = 13,
        SITES_FIRST_LEAK = 15,
        SITES_PLACE = 23,
        SITES_RESERVED = 25
};

bool page_find_sites(struct page *g, struct err *e)
{
        struct select_request request = { .cost = SELECT_LIVE, .each_site = true, .change = true,
                                          .filter = g->r->filter, .progress = g->r->progress };
        bool good = true;

        if (page_whole(g) == &g->whole) /* asks for nothing that could be missing */
                select_make(&g->whole, g->p, g->s, &request, e);
        if (g->r->at)
                good = moment_find(g->p, g->r->at, &request.at, e);
        else if (g->r->range)
                good = moment_range(g->p, g->r->range, &request.from, &request.to, e);
        return good && select_make(&g->sel, g->p, g->s, &request, e);
}

/* ---- which of them ---- */

static uint64_t magnitude(uint64_t value)
{
        return (int64_t)value < 0 ? -value : value;
}

static void costs_of(const struct page *g, const struct select_row *row,
                     uint64_t costs[SITES_COSTS])
{
        struct leaks_sum leak[PROFILE_LEAK_COUNT];

        leaks_of_site(&g->leaks, row->site, leak);
        costs[0] = magnitude(row->live_bytes);
        costs[1] = magnitude(row->live_blocks);
        costs[2] = magnitude(row->peak_bytes);
        costs[3] = magnitude(row->alloc_bytes);
        costs[4] = magnitude(row->allocs);
        costs[5] = magnitude(row->temporary);
        costs[6] = leak[PROFILE_LEAK_DEFINITE].bytes + leak[PROFILE_LEAK_INDIRECT].bytes +
                   leak[PROFILE_LEAK_POSSIBLE].bytes;
}

/* By site: its share of that cost of which it has the largest. */
static void weigh(const struct page *g, const struct select_part *part, double *weights)
{
        uint64_t totals[SITES_COSTS] = { 0 }, costs[SITES_COSTS];

        for (uint32_t i = 0; i < part->count; i++) {
                costs_of(g, &part->rows[i], costs);
                for (uint32_t k = 0; k < SITES_COSTS; k++)
                        totals[k] += costs[k];
        }
        for (uint32_t i = 0; i < part->count; i++) {
                costs_of(g, &part->rows[i], costs);
                for (uint32_t k = 0; k < SITES_COSTS; k++) {
                        double share = totals[k] ? (double)costs[k] / (double)totals[k] : 0;

                        if (weights[part->rows[i].site] < share)
                                weights[part->rows[i].site] = share;
                }
        }
}

static int compare_weights(const void *a, const void *b)
{
        const double *x = a, *y = b;

        return ORDER(*y, *x);
}

/* Which are kept: those of at least so much weight, and so many (EQUAL) of just that weight. */
struct sites_bar {
        double weight;
        uint32_t equal;
};

static struct sites_bar find_bar(const struct page *g, const double *weights,
                                 const struct select_row **rows, uint32_t count)
{
        struct sites_bar bar = { g->limits->share, UINT32_MAX };
        double *sorted = heap_zero(count, sizeof *sorted);
        uint32_t least = g->limits->sites;

        for (uint32_t i = 0; i < count; i++)
                sorted[i] = weights[rows[i]->site];
        qsort(sorted, count, sizeof *sorted, compare_weights);
        if (least < count && sorted[least - 1] < bar.weight) {
                bar = (struct sites_bar){ sorted[least - 1], least };
                for (uint32_t i = 0; i < least; i++)
                        bar.equal -= sorted[i] > bar.weight;
        } else if (least >= count) {
                bar.weight = 0;
        }
        free(sorted);
        return bar;
}

static bool passes(struct sites_bar *bar, double weight)
{
        return weight > bar->weight || (weight == bar->weight && bar->equal && bar->equal--);
}

static int compare_sites(const void *a, const void *b)
{
        const struct select_row *const *x = a, *const *y = b;

        return (*x)->site < (*y)->site ? -1 : (*x)->site > (*y)->site;
}

/* All of them, in the order of their ids; to be freed. */
static const struct select_row **list_rows(const struct page *g, uint32_t *count)
{
        const struct select_part *parts[] = { &g->sel.heap, &g->sel.mapped, &g->sel.older };
        const struct select_row **rows = heap_zero((size_t)parts[0]->count + parts[1]->count +
                                                           parts[2]->count,
                                                   sizeof *rows);

        *count = 0;
        for (uint32_t k = 0; k < 3; k++)
                for (uint32_t i = 0; i < parts[k]->count; i++)
                        rows[(*count)++] = &parts[k]->rows[i];
        qsort(rows, *count, sizeof *rows, compare_sites);
        return rows;
}

/* ---- rows ---- */

static void add_numbers(const struct page *g, const struct select_row *row, int64_t *cells)
{
        struct leaks_sum leak[PROFILE_LEAK_COUNT];
        const uint64_t numbers[] = { row->allocs, row->frees, row->alloc_bytes, row->live_blocks,
                                     row->live_bytes, row->peak_blocks, row->peak_bytes,
                                     row->temporary, row->lifetime_ms };
        int64_t *at = cells + SITES_FIRST_LEAK;

        leaks_of_site(&g->leaks, row->site, leak);
        /* What is older than the recording is in no total, so only its leaks are told. */
        for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
                grid_sum(&cells[SITES_FIRST_SUM + i],
                         row->kind == PROFILE_KIND_OLDER ? 0 : numbers[i]);
        for (uint32_t i = PROFILE_LEAK_DEFINITE; i >= PROFILE_LEAK_REACHABLE; i--) {
                grid_sum(at++, leak[i].blocks);
                grid_sum(at++, leak[i].bytes);
        }
}

/* The frames that the summary in the terminal names. */
static void add_places(struct page *g, const struct select_row *row, int64_t *cells)
{
        struct stack_line stack_line = { .profile = g->p, .symbols = g->s, .known = &g->passed };
        struct stack_line_place places[STACK_LINE_PLACES];
        uint32_t count = stack_line_places(&stack_line, row->node, places);

        for (uint32_t i = 0; i < STACK_LINE_PLACES; i++)
                cells[SITES_PLACE + i] = i < count ? (int64_t)calls_frame(&g->calls, places[i].node,
                                                                          places[i].level)
                                                   : GRID_NONE;
}

static void add_row(struct page *g, struct grid *t, const struct select_row *row)
{
        const struct growth *growth = &g->growth[row->site];
        uint32_t node = calls_frame(&g->calls, row->node, 0);
        int64_t *cells = grid_add(t);

        add_places(g, row, cells);

        cells[0] = row->site;
        cells[1] = node;
        cells[2] = row->kind;
        cells[3] = !LEDGER_KIND_IS_MAPPED(row->kind);
        add_numbers(g, row, cells);
        cells[SITES_RESERVED] = g->reserved[row->site];
        cells[SITES_GROWTH] = growth->class;
        cells[SITES_GROWTH + 1] = (int64_t)(growth->bytes_per_s * 3600 + 0.5);
        g->row_of[row->site] = (int32_t)t->count - 1;
}

static void add_rest_row(struct grid *t, bool heap)
{
        int64_t *cells = grid_add(t);

        cells[3] = heap;
        cells[SITES_PLACE] = cells[SITES_PLACE + 1] = GRID_NONE;
}

/* The rows of what was cut come last: there is one for each of the heap and
 * mappings that lost something. */
static uint32_t add_rest(struct page *g, struct grid *t, const struct select_row **rows,
                         uint32_t count)
{
        uint32_t cut = 0;

        for (uint32_t i = 0; i < count; i++) {
                bool heap = !LEDGER_KIND_IS_MAPPED(rows[i]->kind);

                if (g->row_of[rows[i]->site] != GRID_NONE)
                        continue;
                if (g->rest[heap] == GRID_NONE) {
                        g->rest[heap] = (int32_t)t->count;
                        add_rest_row(t, heap);
                }
                add_numbers(g, rows[i], t->cells + (size_t)g->rest[heap] * t->columns);
                cut++;
        }
        for (uint32_t i = 0; i < count; i++) /* only now: until here it told which were cut */
                if (g->row_of[rows[i]->site] == GRID_NONE)
                        g->row_of[rows[i]->site] = g->rest[!LEDGER_KIND_IS_MAPPED(rows[i]->kind)];
        return cut;
}

static void write_kinds(struct page *g)
{
        page_name(g, "kinds");
        str_char(g->out, '[');
        for (uint32_t i = 0; i <= PROFILE_KIND_OLDER; i++)
                str_format(g->out, "%s\"%s\"", i ? "," : "", profile_kind_name(g->p, i));
        str_char(g->out, ']');
}

void page_write_sites(struct page *g)
{
        double *weights = heap_zero(g->p->site_count, sizeof *weights);
        uint32_t count, cut;
        const struct select_row **rows = list_rows(g, &count);
        struct sites_bar bar;
        struct grid t;

        grid_start(&t, sites_columns);
        weigh(g, &g->sel.heap, weights);
        weigh(g, &g->sel.mapped, weights);
        weigh(g, &g->sel.older, weights);
        bar = find_bar(g, weights, rows, count);
        for (uint32_t i = 0; i < count; i++) {
                progress_tell(g->r->progress, i, count);
                if (passes(&bar, weights[rows[i]->site]))
                        add_row(g, &t, rows[i]);
        }
        cut = add_rest(g, &t, rows, count);
        if (cut)
                page_cut(g,
                         "%u of %u call stacks, each below %.2g %% of every cost, are summed in "
                         "one row.", cut, count,
                         (bar.weight > 0 ? bar.weight : g->limits->share) * 100);
        g->row_count = (uint32_t)t.count;
        write_kinds(g);
        page_table(g, "sites", &t);
        free(rows);
        free(weights);
}
