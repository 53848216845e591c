/* SPDX-License-Identifier: MIT */
/* histogram.c -- sizes and lifetimes in classes of powers of two, drawn as bars. */
#include "report/views.h"

#include <stdlib.h>

#include "profile/packed.h"
#include "words/text.h"

enum {
        HISTOGRAM_CLASSES = 65, /* class 0 is 0, class k is 2^(k-1) .. 2^k - 1, as in the ledger */
        HISTOGRAM_BAR = 36,     /* where bars begin, without and ... */
        HISTOGRAM_BYTES = 10,   /* ... the columns of bytes */
        HISTOGRAM_COLUMNS = 80
};

struct histogram {
        uint64_t count[HISTOGRAM_CLASSES], bytes[HISTOGRAM_CLASSES];
        uint64_t all, all_bytes;
        bool has_bytes;
};

static void histogram_add(struct histogram *h, uint64_t value, uint64_t count, uint64_t bytes)
{
        int class = value ? 64 - __builtin_clzll(value) : 0;

        h->count[class] += count;
        h->bytes[class] += bytes;
        h->all += count;
        h->all_bytes += bytes;
}

static void histogram_take(struct histogram *h, const uint64_t *classes, uint32_t class_count)
{
        for (uint32_t i = 0; i < class_count; i++) {
                h->count[i] = classes[i];
                h->all += classes[i];
        }
}

static void histogram_line(const struct histogram *h, int class, uint64_t most, uint32_t columns,
                           void (*name)(struct str *, int64_t), struct str *out)
{
        uint32_t used = HISTOGRAM_BAR + (h->has_bytes ? HISTOGRAM_BYTES : 0);
        uint32_t room = columns > used + 10 ? columns - used : 10;
        struct str share = { 0 };
        uint64_t length;

        text_cell(out, 12, class ? 1ull << (class - 1) : 0, name); /* where the class begins */
        str_char(out, ' ');
        text_cell(out, 14, h->count[class], text_number);
        text_share(&share, (double)h->count[class], (double)h->all);
        str_format(out, "%8s", str_get(&share));
        str_free(&share);
        if (h->has_bytes)
                text_cell(out, HISTOGRAM_BYTES, h->bytes[class], text_size);
        length = (uint64_t)((double)h->count[class] / (double)most * room + 0.5);
        if (h->count[class])
                str_char(out, ' ');
        for (uint64_t i = 0; i < (length ? length : h->count[class] != 0); i++)
                str_char(out, '#');
        str_char(out, '\n');
}

static void histogram_draw(const struct histogram *h, const char *left,
                           const struct histogram_options *options,
                           void (*name)(struct str *, int64_t), struct str *out)
{
        uint32_t columns = options->columns ? options->columns : HISTOGRAM_COLUMNS;
        int first = 0, last = HISTOGRAM_CLASSES - 1;
        uint64_t most = 1;

        if (!h->all)
                return;
        while (!h->count[first])
                first++;
        while (!h->count[last])
                last--;
        for (int i = first; i <= last; i++)
                if (h->count[i] > most)
                        most = h->count[i];
        str_format(out, "%12s %14s%8s%s\n", left, "count", "share",
                   h->has_bytes ? "     bytes" : "");
        for (int i = first; i <= last; i++)
                histogram_line(h, i, most, columns, name, out);
}

/* Blocks of the chosen sites and threads. */
static void sizes_of_blocks(struct histogram *h, const struct selection *sel,
                            const struct filter *filter)
{
        const struct profile *p = sel->profile;
        uint8_t *chosen = select_sites(sel, &sel->heap);
        struct packed_walk w;

        h->has_bytes = true;
        packed_open(&w, p);
        while (packed_next(&w)) {
                const struct profile_block *block = w.block;
                uint64_t times = profile_block_times(p, block);

                if (block->site >= p->site_count || !chosen[block->site])
                        continue;
                if (filter && block->thread < p->thread_count &&
                    !filter_thread(filter, &p->threads[block->thread]))
                        continue;
                histogram_add(h, block->size, times, times * block->size);
        }
        packed_close(&w);
        free(chosen);
}

static void sizes_of_rows(struct histogram *h, const struct selection *sel)
{
        h->has_bytes = true;
        for (uint32_t i = 0; i < sel->heap.count; i++) {
                const struct select_row *row = &sel->heap.rows[i];

                if ((int64_t)row->count > 0 && (int64_t)row->bytes >= 0)
                        histogram_add(h, row->bytes / row->count, row->count, row->bytes);
        }
}

static void histogram_heading(const char *what, const struct histogram *h, const char *how,
                              struct str *out)
{
        str_format(out, "%s: ", what);
        text_number(out, (int64_t)h->all);
        if (h->has_bytes) {
                str_text(out, " of ");
                text_size(out, (int64_t)h->all_bytes);
                str_text(out, " in all");
        }
        str_format(out, " (%s)\n", how);
}

void histogram_sizes(const struct selection *sel, const struct histogram_options *options,
                     struct str *out)
{
        bool at_end = sel->moment == SELECT_OF_RUN || sel->moment == SELECT_OF_THREADS;
        struct histogram h = { 0 };

        if (sel->cost == SELECT_LIVE && at_end) {
                sizes_of_blocks(&h, sel, options->filter);
                histogram_heading("sizes of blocks not freed", &h, "each block", out);
        } else if (options->whole && sel->cost != SELECT_PEAK && at_end) {
                histogram_take(&h, sel->profile->totals.sizes, LEDGER_SIZE_CLASSES);
                histogram_heading("sizes of all allocations", &h, "each call, whole process", out);
        } else {
                sizes_of_rows(&h, sel);
                str_format(out, "sizes, %s", sel->heading);
                histogram_heading("", &h, "by the average size of each stack", out);
        }
        histogram_draw(&h, "from size", options, text_size, out);
}

void histogram_lifetimes(const struct selection *sel, const struct histogram_options *options,
                         struct str *out)
{
        uint64_t alive = 0;
        struct histogram h = { 0 };

        for (uint32_t i = 0; i < sel->heap.count; i++) {
                const struct select_row *row = &sel->heap.rows[i];

                alive += row->live_blocks;
                if (!options->whole && row->frees)
                        histogram_add(&h, row->lifetime_ms / row->frees, row->frees, 0);
        }
        if (options->whole)
                histogram_take(&h, sel->profile->totals.lifetimes, LEDGER_LIFETIME_CLASSES);
        histogram_heading("lifetimes of freed blocks", &h,
                          options->whole ? "each block, whole process"
                                         : "by the average lifetime of each stack",
                          out);
        histogram_draw(&h, "from age", options, text_age, out);
        if (alive) {
                str_text(out, "   not freed ");
                text_cell(out, 14, alive, text_number);
                str_char(out, '\n');
        }
}
