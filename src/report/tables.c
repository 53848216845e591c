/* SPDX-License-Identifier: MIT */
/* tables.c -- tables of the programs and libraries, and of the threads that allocated. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/order.h"
#include "report/views.h"
#include "words/csv.h"
#include "words/text.h"

struct modules_row {
        const char *path;
        struct select_row sums; /* bytes and count: of the chosen cost */
        uint64_t mapped;        /* live by mmap */
        int64_t weight;
};

struct modules {
        const struct selection *sel;
        struct modules_row *rows;
        uint32_t *row_of; /* by module */
        uint32_t count;
};

/* A library that was loaded twice is one row; what is in no module, row 0. */
static void modules_list(struct modules *m)
{
        const struct profile *p = m->sel->profile;

        m->rows = heap_zero((size_t)p->module_count + 1, sizeof *m->rows);
        m->row_of = heap_zero((size_t)p->module_count + 1, sizeof *m->row_of);
        m->rows[0].path = "(unknown)";
        m->count = 1;
        for (uint32_t i = 0; i < p->module_count; i++) {
                const char *path = p->modules[i].path;
                uint32_t at = 1;

                if (!path)
                        continue;
                while (at < m->count && strcmp(m->rows[at].path, path) != 0)
                        at++;
                if (at == m->count)
                        m->rows[m->count++].path = path;
                m->row_of[i] = at;
        }
}

static struct modules_row *modules_row_at(const struct modules *m, uint32_t node)
{
        uint16_t module = m->sel->profile->nodes[select_origin(m->sel, node)].module;

        return &m->rows[module < m->sel->profile->module_count ? m->row_of[module] : 0];
}

static void modules_sum(struct modules *m)
{
        const struct selection *sel = m->sel;

        for (uint32_t i = 0; i < sel->heap.count; i++) {
                const struct select_row *row = &sel->heap.rows[i];
                struct select_row *sums = &modules_row_at(m, row->node)->sums;

                sums->bytes += row->bytes;
                sums->count += row->count;
                sums->allocs += row->allocs;
                sums->alloc_bytes += row->alloc_bytes;
                sums->live_bytes += row->live_bytes;
        }
        for (uint32_t i = 0; i < sel->mapped.count; i++)
                modules_row_at(m, sel->mapped.rows[i].node)->mapped +=
                        sel->mapped.rows[i].live_bytes;
        for (uint32_t i = 0; i < m->count; i++)
                m->rows[i].weight = select_weight(sel, m->rows[i].sums.bytes,
                                                  m->rows[i].sums.count);
}

static int modules_compare(const void *a, const void *b)
{
        const struct modules_row *x = a, *y = b;

        return ORDER(y->weight, x->weight) ?: ORDER(y->sums.alloc_bytes, x->sums.alloc_bytes) ?:
               strcmp(x->path, y->path);
}

static void modules_line(const struct modules_row *row, double whole, struct str *out)
{
        struct str share = { 0 };

        text_share(&share, (double)row->weight, whole);
        str_format(out, "%7s", str_get(&share));
        str_free(&share);
        text_cell(out, 14, row->sums.allocs, text_number);
        text_cell(out, 11, row->sums.alloc_bytes, text_size);
        text_cell(out, 11, row->sums.live_bytes, text_size);
        text_cell(out, 11, row->mapped, text_size);
        str_format(out, "  %s\n", row->path);
}

static void modules_table(const struct modules *m, uint32_t limit, struct str *out)
{
        const struct selection *sel = m->sel;
        uint32_t used = 0, shown;
        double whole = 0;

        for (uint32_t i = 0; i < m->count; i++) {
                used += m->rows[i].sums.allocs || m->rows[i].sums.live_bytes || m->rows[i].mapped;
                whole += m->rows[i].weight > 0 ? (double)m->rows[i].weight : 0;
        }
        shown = limit && limit < used ? limit : used;
        str_format(out, "by module; shares are of: %s\n", sel->heading);
        str_format(out, "%7s%14s%11s%11s%11s  %s\n", "share", "allocations", "bytes",
                   sel->moment == SELECT_OF_RUN ? "not freed" : "live", "mmap", "module");
        for (uint32_t i = 0; i < shown; i++)
                modules_line(&m->rows[i], whole, out);
        if (shown < used)
                str_format(out, "%u more (-n %u)\n", used - shown, limit);
}

void modules_write(const struct selection *sel, uint32_t limit, struct str *out)
{
        struct modules m = { .sel = sel };

        modules_list(&m);
        modules_sum(&m);
        qsort(m.rows, m.count, sizeof *m.rows, modules_compare);
        modules_table(&m, limit, out);
        free(m.rows);
        free(m.row_of);
}

/* ---- a table of the threads that allocated ---- */

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
                csv_names(out,
                          "tid,name,allocations,bytes_allocated,live_blocks,live_bytes,start_ms");
        else
                str_format(out, "%7s %-15s%13s%11s%11s%11s%11s\n", "thread", "name", "allocations",
                           "bytes", "not freed", "bytes", "since");
        for (uint32_t i = 0; i < shown; i++)
                (options->csv ? threads_csv : threads_line)(list[i], out);
        if (shown < count && !options->csv)
                str_format(out, "%u more thread%s (-n %u)\n", count - shown,
                           count - shown == 1 ? "" : "s", options->limit);
        free(list);
}
