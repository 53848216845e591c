/* SPDX-License-Identifier: MIT */
/*
 * resources.c -- resources that the program acquired and released: file descriptors, textures,
 * locks.
 */
#include "base/order.h"
#include "report/views.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "ledger/ledger.h"
#include "report/stack.h"
#include "words/text.h"

#define RESOURCES_TOLD 5u /* types named in one line */

enum {
        RESOURCES_HANDLES = 16, /* listed per stack */
        RESOURCES_SMALL = 1 << 20 /* handles below are numbers, others addresses */
};

struct resources_type {
        uint32_t kind;
        struct select_row sums;
};

static int by_held(const struct select_row *x, const struct select_row *y)
{
        int64_t a = (int64_t)x->live_blocks, b = (int64_t)y->live_blocks;

        return ORDER(b, a) ?: ORDER(y->allocs, x->allocs);
}

static int type_compare(const void *a, const void *b)
{
        const struct resources_type *x = a, *y = b;
        int order = by_held(&x->sums, &y->sums);

        return order ? order : (x->kind > y->kind) - (x->kind < y->kind);
}

static int row_compare(const void *a, const void *b)
{
        const struct select_row *const *x = a, *const *y = b;
        int order = by_held(*x, *y);

        return order ? order : ((*x)->site > (*y)->site) - ((*x)->site < (*y)->site);
}

/* The types that occur, those with most not released first. */
static struct resources_type *types_of(const struct select_part *part, uint32_t *count)
{
        struct resources_type *types = heap_zero(LEDGER_TYPES_MAX, sizeof *types);

        *count = 0;
        for (uint32_t i = 0; i < part->count; i++) {
                const struct select_row *row = &part->rows[i];
                uint32_t at = 0;

                while (at < *count && types[at].kind != row->kind)
                        at++;
                if (at == LEDGER_TYPES_MAX)
                        continue;
                *count += at == *count;
                types[at].kind = row->kind;
                types[at].sums.allocs += row->allocs;
                types[at].sums.frees += row->frees;
                types[at].sums.live_blocks += row->live_blocks;
                types[at].sums.live_bytes += row->live_bytes;
        }
        qsort(types, *count, sizeof *types, type_compare);
        return types;
}

/* Amounts of what --track-gpu records are bytes (agent/hooks_gpu.c). */
static bool is_memory(const struct profile *p, uint32_t kind)
{
        const char *name = profile_kind_name(p, kind);

        return strcmp(name, "gpu") == 0 || strncmp(name, "gpu-", 4) == 0;
}

/* "3 not released, amount 12, 10 acquired, 7 released"; an amount that is the count itself tells
 * nothing. */
static void write_numbers(const struct selection *sel, const struct select_row *row, bool memory,
                          struct str *out)
{
        static const char *const held[] = { [SELECT_OF_RUN] = "not released",
                                            [SELECT_OF_THREADS] = "not released",
                                            [SELECT_OF_PEAK] = "held at the peak of memory",
                                            [SELECT_OF_TIME] = "held then",
                                            [SELECT_OF_RANGE] = "more held" };

        text_number(out, (int64_t)row->live_blocks);
        str_format(out, " %s", held[sel->moment]);
        if (row->live_bytes && row->live_bytes != row->live_blocks) {
                str_text(out, ", amount ");
                if (memory)
                        text_size(out, (int64_t)row->live_bytes);
                else
                        text_number(out, (int64_t)row->live_bytes);
        }
        str_text(out, ", ");
        text_number(out, (int64_t)row->allocs);
        str_text(out, " acquired, ");
        text_number(out, (int64_t)row->frees);
        str_text(out, " released\n");
}

static void write_handles(const struct selection *sel, const struct select_row *row,
                          struct str *out)
{
        const struct profile *p = sel->profile;
        uint32_t count = 0;

        for (uint32_t i = 0; sel->moment == SELECT_OF_RUN && i < p->handle_count; i++) {
                const struct profile_handle *h = &p->handles[i];

                if (h->site >= p->site_count || sel->leaders[h->site] != row->site ||
                    count++ >= RESOURCES_HANDLES)
                        continue;
                str_text(out, count == 1 ? "      handles " : ", ");
                str_format(out, h->handle < RESOURCES_SMALL ? "%" PRIu64 : "0x%" PRIx64, h->handle);
        }
        if (count > RESOURCES_HANDLES)
                str_format(out, " and %u more", count - RESOURCES_HANDLES);
        if (count)
                str_char(out, '\n');
}

static void write_type(const struct selection *sel, struct symbols *s,
                       const struct resources_type *type, uint32_t limit, struct str *out)
{
        const struct select_row **rows = heap_zero(sel->heap.count, sizeof *rows);
        bool memory = is_memory(sel->profile, type->kind);
        uint32_t count = 0;

        for (uint32_t i = 0; i < sel->heap.count; i++)
                if (sel->heap.rows[i].kind == type->kind)
                        rows[count++] = &sel->heap.rows[i];
        qsort(rows, count, sizeof *rows, row_compare);
        str_format(out, "%s: ", profile_kind_name(sel->profile, type->kind));
        write_numbers(sel, &type->sums, memory, out);
        for (uint32_t i = 0; i < count && (!limit || i < limit); i++) {
                str_char(out, '\n');
                text_item(out, i + 1);
                write_numbers(sel, rows[i], memory, out);
                write_handles(sel, rows[i], out);
                stack_write(sel, s, (struct wrapper_frame){ rows[i]->node, rows[i]->level },
                            "        ", out);
        }
        if (limit && limit < count)
                str_format(out, "\n      %u more stack%s (-n %u)\n", count - limit,
                           count - limit == 1 ? "" : "s", limit);
        free(rows);
}

void resources_write(const struct selection *sel, struct symbols *s, uint32_t limit,
                     struct str *out)
{
        uint32_t count;
        struct resources_type *types = types_of(&sel->heap, &count);

        if (!count)
                str_text(out,
                         "no resources: the program acquired none that SEEP_RESOURCE_ACQUIRE, "
                         "--track-fds or --track-gpu records\n");
        for (uint32_t i = 0; i < count; i++) {
                str_text(out, i ? "\n" : "");
                write_type(sel, s, &types[i], limit, out);
        }
        free(types);
}

bool resources_held(const struct profile *p, struct str *out)
{
        uint32_t told = 0, more = 0;

        for (uint32_t type = 0; type < p->type_count; type++) {
                uint64_t count = 0, amount = 0;

                for (uint32_t i = 1; i < p->site_count; i++)
                        if (p->sites[i].kind == LEDGER_KIND_TYPE_FIRST + type) {
                                count += p->sites[i].live_blocks;
                                amount += p->sites[i].live_bytes;
                        }
                if (!count || told == RESOURCES_TOLD) {
                        more += count != 0;
                        continue;
                }
                str_text(out, told++ ? ", " : "");
                text_number(out, (int64_t)count);
                str_format(out, " %s", profile_kind_name(p, LEDGER_KIND_TYPE_FIRST + type));
                if (is_memory(p, LEDGER_KIND_TYPE_FIRST + type)) {
                        str_text(out, " (");
                        text_size(out, (int64_t)amount);
                        str_char(out, ')');
                }
        }
        if (more) {
                str_text(out, ", ");
                text_count(out, more, "more type");
        }
        return told != 0;
}

/* Slices have the sites that changed: what all of them held then is carried along. */
static void most_over_time(const struct profile *p, const uint8_t *counts,
                           struct resources_memory *out)
{
        uint64_t *held = heap_zero(p->site_count, sizeof *held), sum = 0;

        for (uint32_t i = 0; i < p->slice_count; i++) {
                const struct profile_slice *slice = &p->slices[i];

                for (uint32_t k = 0; k < slice->change_count; k++) {
                        const struct profile_change *c = &p->changes[slice->change_first + k];

                        if (c->site >= p->site_count || !counts[c->site])
                                continue;
                        sum += c->live_bytes - held[c->site];
                        held[c->site] = c->live_bytes;
                }
                if (sum > out->most_bytes) {
                        out->most_bytes = sum;
                        out->most_ms = slice->ms;
                }
        }
        free(held);
}

bool resources_memory(const struct profile *p, struct resources_memory *out)
{
        uint8_t *counts = heap_zero(p->site_count, 1); /* by site */

        *out = (struct resources_memory){ 0 };
        for (uint32_t i = 1; i < p->site_count; i++) {
                const struct profile_site *site = &p->sites[i];

                if (!LEDGER_KIND_IS_RESOURCE(site->kind) || !is_memory(p, site->kind) ||
                    strcmp(profile_kind_name(p, site->kind), "gpu-host") == 0)
                        continue;
                counts[i] = 1;
                out->live_bytes += site->live_bytes;
                out->live_blocks += site->live_blocks;
                out->allocs += site->allocs;
        }
        most_over_time(p, counts, out);
        free(counts);
        return out->allocs > 0;
}
