/* SPDX-License-Identifier: MIT */
/*
 * threads.c -- a table of the threads that allocated.
 *
 * Room:   outside.
 */
#include "report/threads.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/heap.h"
#include "words/csv.h"
#include "words/text.h"

static int thread_compare(const void *a, const void *b)
{
        const struct profile_thread *const *x = a, *const *y = b;

        if ((*x)->bytes_allocated != (*y)->bytes_allocated)
                return (*x)->bytes_allocated > (*y)->bytes_allocated ? -1 : 1;
        return *x < *y ? -1 : *x > *y; /* both point into one array */
}

static void threads_line(const struct profile_thread *t, struct str *out)
{
        size_t start = out->length;

        if (t->tid)
                str_format(out, "%7" PRIu32 " ", t->tid);
        else
                str_text(out, "      - ");
        text_name(out, t->name);
        text_pad(out, start, 23);
        text_cell(out, 13, t->allocations, text_number);
        text_cell(out, 11, t->bytes_allocated, text_size);
        text_cell(out, 11, t->live_blocks, text_number);
        text_cell(out, 11, t->live_bytes, text_size);
        text_cell(out, 11, t->start_ms, text_age);
        str_char(out, '\n');
}

static void threads_csv(const struct profile_thread *t, struct str *out)
{
        csv_number(out, t->tid);
        csv_text(out, t->name);
        csv_number(out, t->allocations);
        csv_number(out, t->bytes_allocated);
        csv_number(out, t->live_blocks);
        csv_number(out, t->live_bytes);
        csv_number(out, t->start_ms);
        csv_end(out);
}

void threads_write(const struct profile *p, const struct threads_options *options, struct str *out)
{
        const struct profile_thread **list = heap_zero(p->thread_count, sizeof *list);
        uint32_t count = 0, shown;

        for (uint32_t i = 0; i < p->thread_count; i++) {
                const struct profile_thread *t = &p->threads[i];

                if (i == 0 && !t->allocations && !t->live_blocks)
                        continue;
                if (!options->filter || filter_thread(options->filter, t))
                        list[count++] = t;
        }
        qsort(list, count, sizeof *list, thread_compare);
        shown = options->limit && options->limit < count ? options->limit : count;
        if (options->csv)
                csv_names(out, "tid,name,allocations,bytes_allocated,live_blocks,live_bytes,start_ms");
        else
                str_format(out, "%7s %-15s%13s%11s%11s%11s%11s\n", "thread", "name", "allocations", "bytes", "not freed",
                           "bytes", "since");
        for (uint32_t i = 0; i < shown; i++)
                (options->csv ? threads_csv : threads_line)(list[i], out);
        if (shown < count && !options->csv)
                str_format(out, "%u more thread%s (-n %u)\n", count - shown, count - shown == 1 ? "" : "s",
                           options->limit);
        free(list);
}
