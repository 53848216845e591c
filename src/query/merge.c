/* SPDX-License-Identifier: MIT */
/*
 * merge.c -- rows of one stack and kind, made one.
 *
 * Room:   outside.
 */
#include "query/merge.h"

#include <stdlib.h>

#include "base/heap.h"

static int merge_compare(const void *a, const void *b)
{
        const struct select_row *x = a, *y = b;

        if (x->node != y->node)
                return x->node < y->node ? -1 : 1;
        if (x->kind != y->kind)
                return x->kind < y->kind ? -1 : 1;
        return x->site < y->site ? -1 : x->site > y->site;
}

/* As sites are: by node, but for those whose stacks were shortened. */
static bool merge_is_sorted(const struct select_part *part)
{
        for (uint32_t i = 1; i < part->count; i++)
                if (merge_compare(&part->rows[i - 1], &part->rows[i]) > 0)
                        return false;
        return true;
}

void merge_add(struct select_row *to, const struct select_row *row)
{
        to->merged += row->merged;
        to->bytes += row->bytes;
        to->count += row->count;
        to->allocs += row->allocs;
        to->frees += row->frees;
        to->alloc_bytes += row->alloc_bytes;
        to->live_blocks += row->live_blocks;
        to->live_bytes += row->live_bytes;
        to->peak_blocks += row->peak_blocks;
        to->peak_bytes += row->peak_bytes;
        to->temporary += row->temporary;
        to->lifetime_ms += row->lifetime_ms;
}

static void merge_part(struct selection *sel, struct select_part *part)
{
        uint32_t kept = 0;

        if (!merge_is_sorted(part))
                qsort(part->rows, part->count, sizeof *part->rows, merge_compare);
        for (uint32_t i = 0; i < part->count; i++) {
                struct select_row *row = &part->rows[i];

                if (!kept || part->rows[kept - 1].node != row->node || part->rows[kept - 1].kind != row->kind) {
                        part->rows[kept++] = *row;
                        continue;
                }
                sel->leaders[row->site] = part->rows[kept - 1].site;
                merge_add(&part->rows[kept - 1], row);
        }
        part->count = kept;
}

void merge_rows(struct selection *sel)
{
        merge_part(sel, &sel->heap);
        merge_part(sel, &sel->mapped);
}
