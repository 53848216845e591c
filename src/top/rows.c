/* SPDX-License-Identifier: MIT */
/*
 * rows.c -- the lines of the table.
 *
 * Cost:   some microseconds per hundred stacks; names are asked for where groups or filters need
 *         them.
 */
#include "top/rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/order.h"
#include "profile/key.h"
#include "query/merge.h"
#include "words/text.h"

static const struct {
        const char *word, *text;
} columns[] = {
#define ROWS_COLUMN_ENTRY(id, word, text) { word, text },
        ROWS_COLUMNS(ROWS_COLUMN_ENTRY)
#undef ROWS_COLUMN_ENTRY
};

bool rows_column_named(const char *word, enum rows_column *column)
{
        for (int i = 0; i < ROWS_COLUMN_COUNT; i++)
                if (strcmp(word, columns[i].word) == 0) {
                        *column = (enum rows_column)i;
                        return true;
                }
        return false;
}

/* A row while its numbers are added up. */
struct sum {
        uint64_t live_before, blocks_before, calls_before, aged_blocks;
        uint64_t most; /* live bytes of the site that stands for the row */
        double births;
};

struct making {
        struct rows *r;
        const struct picture *c;
        const struct rows_request *q;
        struct sum *sums;
        struct selection sel;
        uint32_t *row_of; /* by site: 1 + the row that it is summed into; 0 none */
};

static uint32_t add_row(struct making *m, const struct row *row)
{
        struct rows *r = m->r;

        if ((r->count & (r->count + 1)) == 0) {
                r->all = heap_grow(r->all, (size_t)r->count * 2 + 2, sizeof *r->all);
                m->sums = heap_grow(m->sums, (size_t)r->count * 2 + 2, sizeof *m->sums);
        }
        r->all[r->count] = *row;
        m->sums[r->count] = (struct sum){ 0 };
        return r->count++;
}

static void add_numbers(struct making *m, uint32_t index, uint32_t number)
{
        struct history_numbers now = history_of(m->c->now, number),
                               then = history_of(m->c->then, number),
                               last = history_of(m->c->last, number);
        struct row *row = &m->r->all[index];
        struct sum *sum = &m->sums[index];

        row->live_bytes += now.live_bytes;
        row->live_blocks += now.live_blocks;
        row->allocs += now.allocs;
        sum->live_before += then.live_bytes;
        sum->blocks_before += then.live_blocks;
        sum->calls_before += last.allocs < now.allocs ? last.allocs : now.allocs;
        if (now.birth_ms != HISTORY_UNKNOWN && now.live_blocks) {
                sum->aged_blocks += now.live_blocks;
                sum->births += (double)now.birth_ms * (double)now.live_blocks;
        }
}

/* The largest of its sites stands for a row. */
static void add_site(struct making *m, uint32_t index, uint32_t site)
{
        uint32_t number = m->c->numbers[site];
        uint64_t live = history_of(m->c->now, number).live_bytes;

        add_numbers(m, index, number);
        if (live > m->sums[index].most) {
                m->sums[index].most = live;
                m->r->all[index].site = site;
        }
}

/* ---- call stacks, and what they are grouped by ---- */

/* Names that were seen, as keys of a table of their own. */
static uint32_t row_named(struct making *m, struct history *names, const struct select_row *row)
{
        char *name = group_name(&m->sel, m->c->symbols, row, m->q->group);
        uint64_t key = key_add_text(m->q->group, name);
        uint32_t number = history_number(names, key);

        if (number < m->r->count)
                free(name);
        else
                add_row(m, &(struct row){ .key = key, .site = row->site, .name = name });
        return number;
}

static void find_rows(struct making *m)
{
        struct history names = { 0 };

        for (uint32_t i = 0; i < m->sel.heap.count; i++) {
                const struct select_row *row = &m->sel.heap.rows[i];
                uint32_t index;

                if (m->q->group == GROUP_STACK)
                        index = add_row(m,
                                        &(struct row){ .key = m->c->numbers[row->site] + 1,
                                                       .site = row->site });
                else
                        index = row_named(m, &names, row);
                m->row_of[row->site] = index + 1;
        }
        history_free(&names);
}

static void judge_growth(struct making *m)
{
        const struct profile *p = m->c->p;
        uint32_t *leaders = heap_zero(p->site_count, sizeof *leaders);
        struct profile until = *p; /* as it was then */
        struct growth *growth;

        for (uint32_t i = 0; i < p->site_count; i++)
                leaders[i] = m->row_of[i] ? m->r->all[m->row_of[i] - 1].site : i;
        until.slice_count = m->c->slices;
        growth = growth_judge(&until, leaders);
        for (uint32_t i = 0; growth && i < m->r->count; i++)
                m->r->all[i].growth = growth[m->r->all[i].site];
        free(growth);
        free(leaders);
}

static bool take_stacks(struct making *m, struct err *e)
{
        const struct profile *p = m->c->p;
        struct select_request request = { .cost = SELECT_LIVE, .memory = m->q->memory,
                                          .filter = m->q->filter,
                                          .wrappers = m->q->wrappers, .fold = true };

        filter_forget(m->q->filter);
        if (!select_make(&m->sel, p, m->c->symbols, &request, e))
                return false;
        if (m->sel.fold && m->q->group == GROUP_STACK)
                merge_shown(&m->sel, m->c->symbols);
        m->row_of = heap_zero(p->site_count, sizeof *m->row_of);
        find_rows(m);
        for (uint32_t i = 1; i < p->site_count; i++) {
                m->row_of[i] = m->row_of[m->sel.leaders[i]];
                if (m->row_of[i])
                        add_site(m, m->row_of[i] - 1, i);
        }
        if (!filter_has(m->q->filter, FILTER_THREAD))
                judge_growth(m);
        free(m->row_of);
        return true;
}

/* ---- threads and sizes ---- */

static void take_threads(struct making *m)
{
        struct history *history = m->c->history, seen = { 0 };

        for (uint32_t i = 0; i < m->c->p->thread_count; i++) {
                const struct profile_thread *thread = &m->c->p->threads[i];
                uint32_t number = picture_thread(history, thread);
                struct str name = { 0 };

                if (!filter_thread(m->q->filter, thread) ||
                    history_number(&seen, number + 1u) < m->r->count)
                        continue;
                text_name(&name,
                          i && thread->name && *thread->name ? thread->name : "(thread unknown)");
                add_numbers(m, add_row(m, &(struct row){ .key = number + 1u, .name = name.data }),
                            number);
        }
        history_free(&seen);
}

static void take_sizes(struct making *m)
{
        for (int power = 0; power < 64; power++) {
                uint32_t number = picture_size(m->c->history, power);
                struct str name = { 0 };

                str_text(&name, "up to ");
                text_size(&name, (int64_t)(1ull << power));
                add_numbers(m, add_row(m, &(struct row){ .key = number + 1u, .name = name.data }),
                            number);
        }
}

/* ---- order ---- */

static double value_of(const struct row *row, enum rows_column column)
{
        switch (column) {
        case ROWS_BY_CHANGE:
                return (double)row->change_bytes;
        case ROWS_BY_BLOCKS:
                return (double)row->live_blocks;
        case ROWS_BY_CALLS:
                return row->calls_per_s;
        case ROWS_BY_AGE:
                return row->age_ms == HISTORY_UNKNOWN ? -1 : (double)row->age_ms;
        default:
                return (double)row->live_bytes;
        }
}

static int compare(const void *a, const void *b, void *request)
{
        const struct rows_request *q = request;
        const struct row *x = a, *y = b;
        double one = value_of(x, q->sort), other = value_of(y, q->sort);

        if (one != other)
                return (one > other) == q->ascending ? 1 : -1;
        return ORDER(y->live_bytes, x->live_bytes) ?: ORDER(y->allocs, x->allocs) ?:
               ORDER(x->key, y->key);
}

static void settle(struct making *m, struct row *row, const struct sum *sum)
{
        const struct picture *c = m->c;
        uint64_t rate_ms = c->last && c->now->ms > c->last->ms ? c->now->ms - c->last->ms : 0;

        if (c->then) {
                row->change_bytes = (int64_t)(row->live_bytes - sum->live_before);
                row->change_blocks = (int64_t)(row->live_blocks - sum->blocks_before);
        }
        if (rate_ms)
                row->calls_per_s = (double)(row->allocs - sum->calls_before) * 1000 /
                                   (double)rate_ms;
        row->age_ms = HISTORY_UNKNOWN;
        if (sum->aged_blocks) {
                double birth = sum->births / (double)sum->aged_blocks;

                row->age_ms = birth < (double)c->now->ms ? c->now->ms - (uint64_t)birth : 0;
        }
}

/* Rows with nothing in them are left out. */
static void finish(struct making *m)
{
        struct rows *r = m->r;
        uint32_t kept = 0;

        for (uint32_t i = 0; i < r->count; i++) {
                struct row *row = &r->all[i];

                settle(m, row, &m->sums[i]);
                if (row->live_blocks || row->live_bytes || row->change_bytes ||
                    row->calls_per_s > 0)
                        r->all[kept++] = *row;
                else
                        free(row->name);
        }
        r->count = kept;
        r->has_change = m->c->then != NULL;
        /* Calls are not counted by size that way. */
        r->has_rates = m->c->last && m->q->group != GROUP_SIZE;
        if (r->count)
                qsort_r(r->all, r->count, sizeof *r->all, compare, (void *)m->q);
}

bool rows_make(struct rows *r, const struct picture *c, const struct rows_request *q, struct err *e)
{
        struct making m = { .r = r, .c = c, .q = q };
        bool good = true;

        *r = (struct rows){ 0 };
        if (q->group == GROUP_THREAD)
                take_threads(&m);
        else if (q->group == GROUP_SIZE)
                take_sizes(&m);
        else
                good = take_stacks(&m, e);
        if (good)
                finish(&m);
        select_free(&m.sel);
        free(m.sums);
        return good;
}

void rows_free(struct rows *r)
{
        for (uint32_t i = 0; i < r->count; i++)
                free(r->all[i].name);
        free(r->all);
        *r = (struct rows){ 0 };
}

uint32_t rows_find(const struct rows *r, uint64_t key)
{
        for (uint32_t i = 0; i < r->count; i++)
                if (r->all[i].key == key)
                        return i;
        return 0;
}
