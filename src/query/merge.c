/* SPDX-License-Identifier: MIT */
#include "query/merge.h"

#include <stdlib.h>

#include "base/heap.h"
#include "base/lookup.h"
#include "base/order.h"
#include "base/table.h"
#include "query/calltree.h"

static int merge_compare(const void *a, const void *b)
{
        const struct select_row *x = a, *y = b;

        return ORDER(x->node, y->node) ?: ORDER(x->kind, y->kind) ?: ORDER(x->site, y->site);
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

                if (!kept || part->rows[kept - 1].node != row->node ||
                    part->rows[kept - 1].kind != row->kind) {
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
        merge_part(sel, &sel->older);
}

/* Rows of PART whose stacks are shown as the same node of SHOWN become one; TAKEN has, by site,
 * the one that took it over. */
static void merge_same(struct selection *sel, struct select_part *part, const uint32_t *shown,
                       uint32_t *taken)
{
        struct lookup first = { 0 };
        uint32_t kept = 0;

        for (uint32_t i = 0; i < part->count; i++) {
                struct select_row *row = &part->rows[i];
                uint32_t *at = lookup_pair(&first, row->node > 1 ? shown[i] : 0,
                                           (uint64_t)row->kind << 1 | (row->node == 1));

                if (!*at) {
                        part->rows[kept++] = *row;
                        *at = kept;
                        continue;
                }
                taken[row->site] = part->rows[*at - 1].site;
                merge_add(&part->rows[*at - 1], row);
        }
        part->count = kept;
        lookup_free(&first);
        for (uint32_t i = 0; i < sel->profile->site_count; i++)
                if (taken[sel->leaders[i]])
                        sel->leaders[i] = taken[sel->leaders[i]];
}

void merge_shown(struct selection *sel, struct symbols *s)
{
        uint32_t *ends = heap_zero(sel->node_count, sizeof *ends);
        uint32_t *taken = heap_zero(sel->profile->site_count, sizeof *taken);
        struct select_part *parts[] = { &sel->heap, &sel->mapped };
        struct calltree calls;

        calltree_start(&calls, sel->profile, s, CALLTREE_BY_LINE);
        for (unsigned k = 0; k < 2; k++) {
                uint32_t *shown = heap_zero(parts[k]->count, sizeof *shown);

                for (uint32_t i = 0; i < parts[k]->count; i++) {
                        struct wrapper_frame from = { parts[k]->rows[i].node,
                                                      parts[k]->rows[i].level };

                        shown[i] = calltree_add(&calls, sel, ends, from);
                }
                merge_same(sel, parts[k], shown, taken);
                free(shown);
        }
        calltree_free(&calls);
        free(taken);
        free(ends);
}

/* ---- stacks that are equal in their N innermost frames, made one (--depth-merge) ---- */

/* The tree being made: nodes found by (parent, address, module, exact). */
struct cut_tree {
        const struct profile *profile;
        uint32_t *parents, *origins;
        struct table table;
};

static bool cut_same(const struct cut_tree *t, uint32_t child, uint32_t parent,
                     const struct profile_node *n)
{
        const struct profile_node *other = &t->profile->nodes[t->origins[child]];

        return t->parents[child] == parent && other->pc == n->pc && other->module == n->module &&
               other->exact == n->exact;
}

static uint32_t cut_child(struct cut_tree *t, uint32_t parent, uint32_t origin)
{
        const struct profile_node *node = &t->profile->nodes[origin];
        uint32_t hash = table_hash(node->pc + node->exact, (uint64_t)parent << 16 | node->module);
        uint32_t count = t->table.count,
                 child = TABLE_NUMBER(&t->table, hash, n, cut_same(t, n, parent, node));

        if (child == count) {
                t->parents = heap_next(t->parents, count, sizeof *t->parents);
                t->origins = heap_next(t->origins, count, sizeof *t->origins);
                t->parents[child] = parent;
                t->origins[child] = origin;
        }
        return child;
}

static uint32_t cut_stack(struct cut_tree *t, uint32_t node, uint32_t depth, uint32_t *frames)
{
        uint32_t count = 0, made = 0;

        for (; node > 1 && count < depth; node = t->profile->nodes[node].parent)
                frames[count++] = node;
        while (count--)
                made = cut_child(t, made, frames[count]);
        return made;
}

static uint32_t cut_deepest(const struct profile *p)
{
        uint32_t *depths = heap_zero(p->node_count, sizeof *depths), deepest = 0;

        for (uint32_t i = 2; i < p->node_count; i++) {
                depths[i] = depths[p->nodes[i].parent] + 1;
                if (depths[i] > deepest)
                        deepest = depths[i];
        }
        free(depths);
        return deepest;
}

void cut_stacks(struct selection *sel, uint32_t depth)
{
        struct cut_tree t = { .profile = sel->profile, .table.count = 2 };
        uint32_t deepest = cut_deepest(sel->profile);
        uint32_t *frames;

        if (depth > deepest)
                depth = deepest;
        frames = heap_zero(depth, sizeof *frames);
        t.parents = heap_next(NULL, 0, sizeof *t.parents);
        t.origins = heap_next(NULL, 0, sizeof *t.origins);
        t.parents[0] = t.parents[1] = t.origins[0] = t.origins[1] = 0;
        for (uint32_t i = 0; i < sel->heap.count; i++)
                sel->heap.rows[i].node = cut_stack(&t, sel->heap.rows[i].node, depth, frames);
        for (uint32_t i = 0; i < sel->mapped.count; i++)
                sel->mapped.rows[i].node = cut_stack(&t, sel->mapped.rows[i].node, depth, frames);
        for (uint32_t i = 0; i < sel->older.count; i++)
                sel->older.rows[i].node = cut_stack(&t, sel->older.rows[i].node, depth, frames);
        sel->parents = t.parents;
        sel->origins = t.origins;
        sel->node_count = t.table.count;
        free(frames);
        table_free(&t.table);
}
