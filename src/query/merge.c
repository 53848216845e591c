/* SPDX-License-Identifier: MIT */
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

/* ---- stacks that are equal in their N innermost frames, made one (--depth-merge) ---- */

/* The tree being made: nodes found by (parent, address, module, exact). */
struct cut_tree {
        const struct profile *profile;
        uint32_t *parents, *origins;
        uint32_t count, node_room;
        uint32_t *table; /* 0 free */
        size_t table_room;
};

static size_t cut_slot(const struct cut_tree *t, uint32_t parent, const struct profile_node *n)
{
        uint64_t hash = (n->pc + n->exact) * 0x9e3779b97f4a7c15ull ^
                        ((uint64_t)parent << 16 | n->module) * 0xc2b2ae3d27d4eb4full;
        size_t i = (hash ^ hash >> 32) & (t->table_room - 1);

        for (; t->table[i]; i = (i + 1) & (t->table_room - 1)) {
                const struct profile_node *other = &t->profile->nodes[t->origins[t->table[i]]];

                if (t->parents[t->table[i]] == parent && other->pc == n->pc && other->module == n->module &&
                    other->exact == n->exact)
                        break;
        }
        return i;
}

static void cut_widen(struct cut_tree *t)
{
        t->node_room = t->node_room ? t->node_room * 2 : 1024;
        t->parents = heap_grow(t->parents, t->node_room, sizeof *t->parents);
        t->origins = heap_grow(t->origins, t->node_room, sizeof *t->origins);
        free(t->table);
        t->table_room = (size_t)t->node_room * 2;
        t->table = heap_zero(t->table_room, sizeof *t->table);
        for (uint32_t i = 2; i < t->count; i++)
                t->table[cut_slot(t, t->parents[i], &t->profile->nodes[t->origins[i]])] = i;
}

static uint32_t cut_child(struct cut_tree *t, uint32_t parent, uint32_t origin)
{
        size_t slot;

        if (t->count == t->node_room)
                cut_widen(t);
        slot = cut_slot(t, parent, &t->profile->nodes[origin]);
        if (!t->table[slot]) {
                t->parents[t->count] = parent;
                t->origins[t->count] = origin;
                t->table[slot] = t->count++;
        }
        return t->table[slot];
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
        struct cut_tree t = { .profile = sel->profile, .count = 2 };
        uint32_t deepest = cut_deepest(sel->profile);
        uint32_t *frames;

        if (depth > deepest)
                depth = deepest;
        frames = heap_zero(depth, sizeof *frames);
        cut_widen(&t);
        t.parents[0] = t.parents[1] = t.origins[0] = t.origins[1] = 0;
        for (uint32_t i = 0; i < sel->heap.count; i++)
                sel->heap.rows[i].node = cut_stack(&t, sel->heap.rows[i].node, depth, frames);
        for (uint32_t i = 0; i < sel->mapped.count; i++)
                sel->mapped.rows[i].node = cut_stack(&t, sel->mapped.rows[i].node, depth, frames);
        sel->parents = t.parents;
        sel->origins = t.origins;
        sel->node_count = t.count;
        free(frames);
        free(t.table);
}
