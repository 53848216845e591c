/* SPDX-License-Identifier: MIT */
/* diff_text.c -- what changed between two recordings, as text; and as --memlog and --csv. */
#include "base/order.h"
#include "query/diff.h"

#include <stdlib.h>

#include "base/heap.h"
#include "ledger/ledger.h"
#include "query/merge.h"
#include "report/memlog.h"
#include "report/stack.h"
#include "report/views.h"
#include "words/csv.h"
#include "words/text.h"

/* ---- for people ---- */

static bool is_mapped(const struct diff_row *row)
{
        return LEDGER_KIND_IS_MAPPED(row->kind);
}

/* Sizes for costs in bytes, numbers for counts. */
static void write_weight(const struct diff *d, const struct select_row *row, struct str *out)
{
        int64_t weight = select_weight(d->sel[MATCH_NEW], row->bytes, row->count);

        if (select_counts(d->sel[MATCH_NEW]->cost))
                text_number(out, weight);
        else
                text_size(out, weight);
}

static void write_signed(const struct diff *d, const struct select_row *change, struct str *out)
{
        if (select_weight(d->sel[MATCH_NEW], change->bytes, change->count) > 0)
                str_char(out, '+');
        write_weight(d, change, out);
}

static void write_count(struct str *out, uint64_t change, const char *noun)
{
        str_text(out, (int64_t)change > 0 ? ", +" : ", ");
        text_count(out, (int64_t)change, noun);
}

/* "2.0 MiB to 3.0 MiB live, +12 blocks, +300 calls".  Calls until the peak are not known. */
static void write_numbers(const struct diff *d, const struct select_row *const sums[MATCH_SIDES],
                          const struct select_row *change, struct str *out)
{
        static const char *const words[] = { [SELECT_LIVE] = "live",
                                             [SELECT_PEAK] = "at the peak",
                                             [SELECT_TOTAL] = "allocated",
                                             [SELECT_ALLOCS] = "calls",
                                             [SELECT_TEMPORARY] = "temporary" };
        enum select_cost cost = d->sel[MATCH_NEW]->cost;

        write_weight(d, sums[MATCH_OLD], out);
        str_text(out, " to ");
        write_weight(d, sums[MATCH_NEW], out);
        str_char(out, ' ');
        str_text(out, words[cost]);
        if (cost == SELECT_LIVE || cost == SELECT_PEAK)
                write_count(out, cost == SELECT_LIVE ? change->live_blocks : change->peak_blocks,
                            "block");
        if (d->sel[MATCH_OLD]->moment != SELECT_OF_PEAK &&
            d->sel[MATCH_NEW]->moment != SELECT_OF_PEAK && cost != SELECT_ALLOCS)
                write_count(out, change->allocs, "call");
        str_char(out, '\n');
}

/* "definitely lost +50 B, +1 block; possibly lost -10 B, -1 block" between BEFORE and AFTER;
 * nothing when it is the same. */
static void write_leaks(const struct leaks_sum *sums, const char *before, const char *after,
                        struct str *out)
{
        bool first = true;

        for (uint32_t leak = PROFILE_LEAK_DEFINITE; leak > PROFILE_LEAK_REACHABLE; leak--) {
                if (!sums[leak].blocks && !sums[leak].bytes)
                        continue;
                str_format(out, "%s%s %s", first ? before : "; ", profile_leak_text(leak),
                           (int64_t)sums[leak].bytes > 0 ? "+" : "");
                text_size(out, (int64_t)sums[leak].bytes);
                write_count(out, sums[leak].blocks, "block");
                first = false;
        }
        str_text(out, first ? "" : after);
}

static bool lost_changed(const struct diff *d, const struct diff_row *row)
{
        struct leaks_sum leaks[PROFILE_LEAK_COUNT];

        if (!row->lost)
                return false;
        diff_row_leaks(d, row, leaks);
        return leaks[PROFILE_LEAK_DEFINITE].blocks || leaks[PROFILE_LEAK_INDIRECT].blocks ||
               leaks[PROFILE_LEAK_POSSIBLE].blocks;
}

static void write_row(const struct diff *d, const struct diff_row *row, uint32_t number,
                      const struct diff_options *options, struct stack_writer *w)
{
        struct select_row change = diff_numbers(d, row);
        struct leaks_sum leaks[PROFILE_LEAK_COUNT];
        struct str *out = w->out;
        size_t start = out->length;

        text_item(out, number);
        text_color(out, options->color, TEXT_BOLD);
        write_signed(d, &change, out);
        text_plain(out, options->color);
        text_pad(out, start, 18);
        str_char(out, ' ');
        str_text(out, diff_change_word(diff_change_of(d, row)));
        str_text(out, ", by ");
        str_text(out, profile_kind_name(w->sel->profile, row->kind));
        str_text(out, ", site #");
        str_number(out, row->site);
        str_text(out, row->shown == MATCH_OLD ? " of the old one\n      " : "\n      ");
        write_numbers(d, row->sums, &change, out);
        if (row->lost) {
                diff_row_leaks(d, row, leaks);
                write_leaks(leaks, "      ", "\n", out);
        }
        stack_add(w, row->from);
        str_char(out, '\n');
}

static void write_head(const struct diff *d, bool mapped, const struct diff_options *options,
                       struct str *out)
{
        uint32_t counts[DIFF_CHANGE_COUNT] = { 0 };
        struct select_row sums[MATCH_SIDES] = { { 0 } }, change = { 0 }, one;

        for (uint32_t i = 0; i < d->count; i++) {
                if (is_mapped(&d->rows[i]) != mapped)
                        continue;
                counts[diff_change_of(d, &d->rows[i])]++;
                one = diff_numbers(d, &d->rows[i]);
                merge_add(&change, &one);
                for (int side = 0; side < MATCH_SIDES; side++)
                        merge_add(&sums[side], d->rows[i].sums[side]);
        }
        str_text(out, mapped ? "mapped by mmap: " : "heap: ");
        text_color(out, options->color, TEXT_BOLD);
        write_signed(d, &change, out);
        text_plain(out, options->color);
        str_text(out, ", ");
        write_numbers(d, (const struct select_row *const[]){ &sums[0], &sums[1] }, &change, out);
        str_text(out, "stacks: ");
        for (int i = 0; i < DIFF_CHANGE_COUNT; i++) {
                text_number(out, counts[i]);
                str_format(out, " %s%s", diff_change_word((enum diff_change)i),
                           i + 1 < DIFF_CHANGE_COUNT ? ", " : "\n\n");
        }
}

static bool is_listed(const struct diff *d, const struct diff_row *row, bool mapped)
{
        return is_mapped(row) == mapped && (row->key || lost_changed(d, row));
}

/* What the row STACK_AHEAD places behind PLACE needs: it is anywhere in memory, and so are its
 * numbers and its stack. */
static void expect_row(const struct diff *d, uint32_t place, struct stack_writer w[MATCH_SIDES])
{
        const struct diff_row *row;

        if (d->count - place > 2 * STACK_AHEAD)
                __builtin_prefetch(diff_row_at(d, place + 2 * STACK_AHEAD));
        if (d->count - place <= STACK_AHEAD)
                return;
        row = diff_row_at(d, place + STACK_AHEAD);
        for (int side = 0; side < MATCH_SIDES; side++)
                __builtin_prefetch(row->sums[side]);
        stack_expect(&w[row->shown], row->from.node);
}

/* The stacks of these rows will all be written. */
static void foresee(const struct diff *d, bool mapped, struct stack_writer w[MATCH_SIDES])
{
        for (uint32_t i = 0; i < d->count; i++)
                if (is_listed(d, &d->rows[i], mapped))
                        stack_foresee(&w[d->rows[i].shown], d->rows[i].from);
        for (int side = 0; side < MATCH_SIDES; side++)
                stack_prepare(&w[side]);
}

static void write_part(const struct diff *d, bool mapped, const struct diff_options *options,
                       struct str *out)
{
        struct stack_writer w[MATCH_SIDES];
        uint32_t count = 0;

        for (int side = 0; side < MATCH_SIDES; side++)
                stack_start(&w[side], d->sel[side], d->symbols[side], "        ", out);
        if (!options->limit)
                foresee(d, mapped, w);
        write_head(d, mapped, options, out);
        for (uint32_t i = 0; i < d->count; i++) {
                const struct diff_row *row = diff_row_at(d, i);

                if (!options->limit)
                        expect_row(d, i, w);
                if (!is_listed(d, row, mapped))
                        continue;
                if (!options->limit || count < options->limit)
                        write_row(d, row, count + 1, options, &w[row->shown]);
                str_drain(out);
                count++;
        }
        for (int side = 0; side < MATCH_SIDES; side++)
                stack_end(&w[side]);
        if (options->limit && count > options->limit) {
                str_text(out, "      ");
                text_count(out, count - options->limit, "more stack");
                str_format(out, " (-n %u)\n", options->limit);
        }
}

void diff_text(const struct diff *d, const struct diff_options *options, struct str *out)
{
        struct leaks_sum sums[PROFILE_LEAK_COUNT];

        diff_leaks(d, sums);
        str_format(out, "from %s to %s\n", options->names[MATCH_OLD], options->names[MATCH_NEW]);
        write_leaks(sums, "leaks: ", "\n", out);
        write_part(d, false, options, out);
        if (d->sel[MATCH_OLD]->mapped.count || d->sel[MATCH_NEW]->mapped.count)
                write_part(d, true, options, out);
}

/* ---- as MTrace writes it ---- */

ORDER_BY(by_id, struct diff_row, id)

static int by_key(const void *a, const void *b)
{
        const struct diff_row *x = a, *y = b;
        int order = diff_order(x->key, y->key);

        return order ? order : by_id(a, b);
}

static int by_size(const void *a, const void *b)
{
        const struct diff_row *x = a, *y = b;
        int order = diff_order_abs(x->key, y->key);

        return order ? order : by_id(a, b);
}

/* The heap's rows with their chosen cost as the key, one per stack whatever the kind. */
static struct diff_row *rows_by_stack(const struct diff *d, bool abs, uint32_t *count)
{
        struct diff_row *rows = heap_zero(d->count, sizeof *rows);
        uint32_t all = 0;

        *count = 0;
        for (uint32_t i = 0; i < d->count; i++) {
                const struct diff_row *row = diff_row_at(d, i);

                if (!is_mapped(row)) {
                        struct select_row change = diff_numbers(d, row);

                        rows[all] = *row;
                        rows[all].key = select_weight(d->sel[MATCH_NEW], change.bytes,
                                                      change.count);
                        all++;
                }
        }
        qsort(rows, all, sizeof *rows, by_id);
        for (uint32_t i = 0; i < all; i++) {
                if (*count && rows[*count - 1].id == rows[i].id)
                        rows[*count - 1].key = diff_sum(rows[*count - 1].key, rows[i].key);
                else
                        rows[(*count)++] = rows[i];
        }
        qsort(rows, *count, sizeof *rows, abs ? by_size : by_key);
        return rows;
}

void diff_memlog(const struct diff *d, const struct diff_options *options, struct str *out)
{
        uint32_t count, told = 0;
        struct diff_row *rows = rows_by_stack(d, options->abs, &count);
        struct stack_writer w[MATCH_SIDES];

        for (int side = 0; side < MATCH_SIDES; side++)
                memlog_start(&w[side], d->sel[side], d->symbols[side], out);
        for (uint32_t i = 0; i < count && (!options->limit || told < options->limit); i++)
                if (rows[i].key) {
                        memlog_add(&w[rows[i].shown], rows[i].from, rows[i].key);
                        told++;
                }
        for (int side = 0; side < MATCH_SIDES; side++)
                stack_end(&w[side]);
        free(rows);
}

/* ---- for programs ---- */

static void csv_row(const struct diff *d, const struct diff_row *row, struct stack_writer *w)
{
        const struct select_row numbers = diff_numbers(d, row), *change = &numbers;
        const struct select_known *known = &d->known;

        csv_text(w->out, diff_change_word(diff_change_of(d, row)));
        csv_text(w->out, profile_kind_name(w->sel->profile, row->kind));
        csv_signed(w->out, (int64_t)change->live_bytes);
        csv_signed(w->out, (int64_t)change->live_blocks);
        csv_known(w->out, known->peak, change->peak_bytes);
        csv_known(w->out, known->peak, change->peak_blocks);
        csv_known(w->out, known->calls, change->alloc_bytes);
        csv_known(w->out, known->calls, change->allocs);
        csv_known(w->out, known->calls, change->frees);
        csv_known(w->out, known->temporary, change->temporary);
        csv_stack(w, row->from);
        csv_moment(w->out, d->sel[MATCH_OLD]);
        csv_moment(w->out, d->sel[MATCH_NEW]);
        csv_end(w->out);
        str_drain(w->out);
}

void diff_csv(const struct diff *d, const struct diff_options *options, struct str *out)
{
        struct stack_writer w[MATCH_SIDES];
        uint32_t count = 0;

        csv_names(out, "change,kind,live_bytes,live_blocks,peak_bytes,peak_blocks,alloc_bytes,"
                       "allocs,frees,temporary,stack,old_moment,new_moment");
        for (int side = 0; side < MATCH_SIDES; side++)
                csv_start(&w[side], d->sel[side], d->symbols[side], out);
        for (uint32_t i = 0; !options->limit && i < d->count; i++)
                if (!d->rows[i].equal)
                        stack_foresee(&w[d->rows[i].shown], d->rows[i].from);
        for (int side = 0; !options->limit && side < MATCH_SIDES; side++)
                stack_prepare(&w[side]);
        for (uint32_t i = 0; i < d->count && (!options->limit || count < options->limit); i++) {
                const struct diff_row *row = diff_row_at(d, i);

                if (!options->limit)
                        expect_row(d, i, w);
                if (row->equal)
                        continue;
                count++;
                csv_row(d, row, &w[row->shown]);
        }
        for (int side = 0; side < MATCH_SIDES; side++)
                stack_end(&w[side]);
}
