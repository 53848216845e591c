/* SPDX-License-Identifier: MIT */
/*
 * tree.c -- the call tree, with the share of each line.
 *
 * Keeps:  each line of a function is a line of the tree, once in its level.  A level's shares and
 *         its summed rest add up to the line above it: what that one allocates itself beside its
 *         calls is "(itself)" among them.
 * Cost:   below a line, only what is shown is looked at.
 *
 * A level is a list of items, each a node of the tree of frames; items of one frame form a group,
 * which is a line.  From main inwards an item is a line of its own; from the allocation outwards
 * one line may stand for many.  A line's own level is made when it has been printed.
 */
#include "report/views.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "profile/reserve.h"
#include "query/calltree.h"
#include "words/label.h"
#include "words/text.h"

/* columns; recursion may be thousands deep.  On a terminal 2/5 of it at most. */
enum { TREE_INDENT_MAX = 120 };

struct tree_item {
        uint32_t node; /* of the tree */
        bool itself;   /* what the line above allocates itself: a part of it, as what it calls is */
        uint64_t bytes, count;
};

struct tree_sum {
        uint64_t bytes, count;
};

struct tree_group {
        uint32_t first, count; /* its items */
        uint64_t bytes, calls;
        int64_t weight;
};

struct tree_level {
        struct tree_item *items;
        uint32_t item_count, item_room;
        struct tree_group *groups; /* largest first */
        uint32_t group_count, visible, next;
        size_t prefix; /* bytes of the line prefix above this level */
};

struct tree {
        const struct selection *sel;
        const struct tree_options *options;
        struct str *out;
        struct calltree calls;
        uint32_t *ends;          /* by row: the node that is its stack */
        struct tree_sum *sums;   /* by node, with all below; top-down only */
        uint32_t *group_of;      /* by item_key(): group + 1 in the level being made */
        uint32_t *item_of;       /* by node: item + 1 in the level being made; inverted only */
        int64_t whole;
        struct tree_level *levels; /* the path to the line being printed */
        uint32_t depth, level_room;
        struct str prefix;
};

static void level_add(struct tree_level *l, struct tree_item item)
{
        if (l->item_count == l->item_room) {
                l->item_room = l->item_room ? l->item_room * 2 : 8;
                l->items = heap_grow(l->items, l->item_room, sizeof *l->items);
        }
        l->items[l->item_count++] = item;
}

static void level_free(struct tree_level *l)
{
        free(l->items);
        free(l->groups);
}

static int64_t row_weight(const struct tree *t, const struct select_row *row)
{
        return select_weight(t->sel, row->bytes, row->count);
}

static void tree_make(struct tree *t, struct symbols *s, const struct select_part *part)
{
        uint32_t *known = heap_zero(t->sel->node_count, sizeof *known);

        calltree_start(&t->calls, t->sel->profile, s, CALLTREE_BY_LINE);
        t->calls.cuts = calltree_has_cuts(t->sel->profile);
        t->ends = heap_zero(part->count, sizeof *t->ends);
        for (uint32_t i = 0; i < part->count; i++) {
                struct wrapper_frame from = { part->rows[i].node, part->rows[i].level };

                if (row_weight(t, &part->rows[i]) > 0)
                        t->ends[i] = calltree_add(&t->calls, t->sel, known, from);
        }
        free(known);
        calltree_settle(&t->calls);
        t->group_of = heap_zero(2ull * t->calls.frame_count, sizeof *t->group_of);
}

/* Sums of each node with everything below it; a parent's number is smaller than its child's. */
static void tree_sum(struct tree *t, const struct select_part *part)
{
        const struct branches *nodes = &t->calls.nodes;

        t->sums = heap_dense(nodes->count, sizeof *t->sums);
        for (uint32_t i = 0; i < part->count; i++)
                if (t->ends[i]) {
                        t->sums[t->ends[i]].bytes += part->rows[i].bytes;
                        t->sums[t->ends[i]].count += part->rows[i].count;
                }
        for (uint32_t i = nodes->count; i-- > 1;) {
                t->sums[nodes->list[i].parent].bytes += t->sums[i].bytes;
                t->sums[nodes->list[i].parent].count += t->sums[i].count;
        }
}

/* One step towards the allocation: what NODE calls, and what it allocates itself beside that. */
static void level_add_inner(struct tree *t, struct tree_level *l, uint32_t node)
{
        const struct branches_node *nodes = t->calls.nodes.list;
        struct tree_item own = { node, true, t->sums[node].bytes, t->sums[node].count };
        uint32_t room = nodes[node].children, left = room;

        l->item_room = room;
        l->items = heap_zero(room, sizeof *l->items);
        for (uint32_t i = nodes[node].first; i; i = nodes[i].next) { /* the last one comes first */
                if (!t->sums[i].bytes && !t->sums[i].count) /* recursion went elsewhere */
                        continue;
                l->items[--left] = (struct tree_item){ i, false, t->sums[i].bytes,
                                                       t->sums[i].count };
                own.bytes -= t->sums[i].bytes;
                own.count -= t->sums[i].count;
        }
        l->item_count = room - left;
        memmove(l->items, l->items + left, l->item_count * sizeof *l->items);
        if (l->item_count && select_weight(t->sel, own.bytes, own.count) > 0)
                level_add(l, own);
}

/* One step away from the allocation; items that meet at one node become one. */
static void level_add_outer(struct tree *t, struct tree_level *l, struct tree_item item)
{
        uint32_t known;

        item.node = t->calls.nodes.list[item.node].parent;
        known = t->item_of[item.node];
        if (!item.node)
                return;
        if (known && known <= l->item_count && l->items[known - 1].node == item.node) {
                l->items[known - 1].bytes += item.bytes;
                l->items[known - 1].count += item.count;
                return;
        }
        level_add(l, item);
        t->item_of[item.node] = l->item_count;
}

/* Equal for items that are one line.  A recursive call is another line than what the
 * line above allocates itself. */
static uint32_t item_key(const struct tree *t, const struct tree_item *item)
{
        return 2 * t->calls.nodes.list[item->node].frame + item->itself;
}

/* Number the groups of L, one group number per item; sums and counts are filled on the way. */
static void level_number(struct tree *t, struct tree_level *l, uint32_t *numbers)
{
        uint32_t *keys = heap_zero(l->item_count, sizeof *keys);

        for (uint32_t i = 0; i < l->item_count; i++) {
                const struct tree_item *item = &l->items[i];
                struct tree_group *group;

                keys[i] = item_key(t, item);
                if (!t->group_of[keys[i]])
                        t->group_of[keys[i]] = ++l->group_count;
                numbers[i] = t->group_of[keys[i]] - 1;
                group = &l->groups[numbers[i]];
                group->count++;
                group->bytes += item->bytes;
                group->calls += item->count;
        }
        for (uint32_t i = 0; i < l->item_count; i++)
                t->group_of[keys[i]] = 0;
        free(keys);
}

/* Put items of one group together. */
static void level_gather(struct tree_level *l, const uint32_t *numbers)
{
        struct tree_item *sorted = heap_zero(l->item_count, sizeof *sorted);
        uint32_t at = 0;

        for (uint32_t i = 0; i < l->group_count; i++) {
                l->groups[i].first = at;
                at += l->groups[i].count;
                l->groups[i].count = 0;
        }
        for (uint32_t i = 0; i < l->item_count; i++) {
                struct tree_group *group = &l->groups[numbers[i]];

                sorted[group->first + group->count++] = l->items[i];
        }
        free(l->items);
        l->items = sorted;
}

static int group_compare(const void *a, const void *b)
{
        const struct tree_group *x = a, *y = b;

        if (x->weight != y->weight)
                return x->weight > y->weight ? -1 : 1;
        return x->first < y->first ? -1 : 1;
}

static void level_finish(struct tree *t, struct tree_level *l)
{
        uint32_t *numbers = heap_zero(l->item_count, sizeof *numbers);

        l->groups = heap_zero(l->item_count, sizeof *l->groups);
        level_number(t, l, numbers);
        level_gather(l, numbers);
        free(numbers);
        for (uint32_t i = 0; i < l->group_count; i++)
                l->groups[i].weight = select_weight(t->sel, l->groups[i].bytes, l->groups[i].calls);
        qsort(l->groups, l->group_count, sizeof *l->groups, group_compare);
        while (l->visible < l->group_count &&
               (!t->options->limit || l->visible < t->options->limit) &&
               100.0 * (double)l->groups[l->visible].weight >=
                       t->options->threshold * (double)t->whole)
                l->visible++;
}

static void tree_line_start(struct tree *t, uint64_t bytes, uint64_t count)
{
        int64_t weight = select_weight(t->sel, bytes, count);

        str_bytes(t->out, t->prefix.data, t->prefix.length);
        str_text(t->out, "-> ");
        text_color(t->out, t->options->color, TEXT_BOLD);
        text_percent(t->out, (double)weight / (double)t->whole);
        text_plain(t->out, t->options->color);
        str_char(t->out, ' ');
        str_char(t->out, '(');
        if (t->sel->cost != SELECT_TEMPORARY) {
                text_number(t->out, (int64_t)bytes);
                str_text(t->out, "B, ");
        }
        text_number(t->out, (int64_t)count);
        str_text(t->out, "x)");
}

static void tree_print(struct tree *t, const struct tree_level *l, const struct tree_group *group)
{
        const struct tree_item *item = &l->items[group->first];
        const struct calltree_frame *frame =
                &t->calls.frames[t->calls.nodes.list[item->node].frame];
        size_t start = t->out->length, used;

        tree_line_start(t, group->bytes, group->calls);
        str_text(t->out, ": ");
        if (item->itself) {
                str_text(t->out, "(itself)\n");
                return;
        }
        used = t->out->length - start -
               (t->options->color ? strlen("\033[" TEXT_BOLD "m\033[0m") : 0);
        label_fit(t->sel->profile, frame->node, frame->names,
                  t->options->columns > used ? t->options->columns - used
                  : t->options->columns      ? 1
                                             : 0,
                  t->options->color, t->out);
        str_char(t->out, '\n');
}

static void tree_print_rest(struct tree *t, const struct tree_level *l)
{
        uint64_t bytes = 0, count = 0;
        bool all_small = 100.0 * (double)l->groups[l->visible].weight <
                         t->options->threshold * (double)t->whole;

        for (uint32_t i = l->visible; i < l->group_count; i++) {
                bytes += l->groups[i].bytes;
                count += l->groups[i].calls;
        }
        tree_line_start(t, bytes, count);
        str_format(t->out, " in %u place%s, all below ", l->group_count - l->visible,
                   l->group_count - l->visible == 1 ? "" : "s");
        if (all_small)
                str_format(t->out, "the %.2f%% threshold\n", t->options->threshold);
        else
                str_format(t->out, "the first %u\n", t->options->limit);
}

static struct tree_level *tree_push(struct tree *t)
{
        if (t->depth == t->level_room) {
                t->level_room = t->level_room ? t->level_room * 2 : 64;
                t->levels = heap_grow(t->levels, t->level_room, sizeof *t->levels);
        }
        t->levels[t->depth] = (struct tree_level){ .prefix = t->prefix.length };
        return &t->levels[t->depth++];
}

/* A line was printed: make the level below it.  LAST: no line of its own level follows. */
static void tree_descend(struct tree *t, const struct tree_group *group, bool last)
{
        struct tree_level *below = tree_push(t);
        const struct tree_level *above = &t->levels[t->depth - 2];

        if (t->prefix.length <
            (t->options->columns ? t->options->columns * 2 / 5 : TREE_INDENT_MAX))
                str_text(&t->prefix, last ? "  " : "| ");
        for (uint32_t i = 0; i < group->count; i++) {
                const struct tree_item *item = &above->items[group->first + i];

                if (t->options->inverted)
                        level_add_outer(t, below, *item);
                else if (!item->itself)
                        level_add_inner(t, below, item->node);
        }
        level_finish(t, below);
}

/* Back to the level above; a line between this subtree and the next sibling keeps them apart. */
static void tree_ascend(struct tree *t)
{
        struct tree_level *l = &t->levels[--t->depth];
        bool had_lines = l->group_count > 0;

        t->prefix.length = l->prefix;
        level_free(l);
        if (!t->depth)
                return;
        l = &t->levels[t->depth - 1];
        if (had_lines && l->next < l->group_count) {
                str_bytes(t->out, t->prefix.data, t->prefix.length);
                str_text(t->out, "|\n");
        }
}

static void tree_walk(struct tree *t)
{
        while (t->depth) {
                struct tree_level *l = &t->levels[t->depth - 1];

                if (l->next < l->visible) {
                        const struct tree_group *group = &l->groups[l->next++];

                        tree_print(t, l, group);
                        tree_descend(t, group, l->next == l->group_count);
                        continue;
                }
                if (l->next < l->group_count) {
                        tree_print_rest(t, l);
                        l->next = l->group_count;
                }
                tree_ascend(t);
        }
}

static void tree_head(struct tree *t, const struct select_part *part, const char *heading)
{
        uint64_t shrunk = 0, whole = 0;

        for (uint32_t i = 0; i < part->count; i++) {
                int64_t weight = row_weight(t, &part->rows[i]);

                if (weight < 0)
                        shrunk += (uint64_t)weight;
                else
                        whole += (uint64_t)weight;
        }
        t->whole = (int64_t)whole;
        text_color(t->out, t->options->color, TEXT_BOLD);
        str_format(t->out, "%s: ", heading);
        text_number(t->out, t->whole);
        str_text(t->out, select_counts(t->sel->cost) ? "x" : "B");
        text_plain(t->out, t->options->color);
        if (shrunk) {
                str_text(t->out, " (and elsewhere ");
                text_number(t->out, (int64_t)shrunk);
                str_text(t->out, ": not in the tree)");
        }
        str_char(t->out, '\n');
}

static void tree_first_level(struct tree *t, const struct select_part *part)
{
        struct tree_level *top = tree_push(t);

        if (t->options->inverted) {
                t->item_of = heap_zero(t->calls.nodes.count, sizeof *t->item_of);
                for (uint32_t i = 0; i < part->count; i++)
                        if (t->ends[i])
                                level_add(top,
                                          (struct tree_item){ t->ends[i], false,
                                                              part->rows[i].bytes,
                                                              part->rows[i].count });
        } else {
                tree_sum(t, part);
                level_add_inner(t, top, 0);
        }
        level_finish(t, top);
}

static void tree_part(const struct selection *sel, const struct select_part *part,
                      struct symbols *s, const struct tree_options *options, const char *heading,
                      struct str *out)
{
        struct tree t = { .sel = sel, .options = options, .out = out };

        tree_head(&t, part, heading);
        str_text(&t.prefix, "  ");
        if (t.whole > 0) {
                tree_make(&t, s, part);
                tree_first_level(&t, part);
                tree_walk(&t);
        }
        free(t.group_of);
        free(t.sums);
        free(t.ends);
        free(t.item_of);
        free(t.levels);
        str_free(&t.prefix);
        calltree_free(&t.calls);
}

static const char *mapped_heading(const struct selection *sel)
{
        if (sel->cost == SELECT_PEAK || sel->moment == SELECT_OF_PEAK)
                return "mapped by mmap, at the peak of the heap";
        return sel->cost == SELECT_LIVE && sel->moment != SELECT_OF_RANGE ? "mapped by mmap, live"
                                                                          : "mapped by mmap";
}

/* A tree that is not the first one. */
static void tree_next(const struct selection *sel, const struct select_part *part,
                      struct symbols *s, const struct tree_options *options, const char *heading,
                      struct str *out)
{
        if ((int64_t)part->total_bytes <= 0 || sel->cost == SELECT_TEMPORARY)
                return;
        str_char(out, '\n');
        tree_part(sel, part, s, options, heading, out);
}

enum { MAPPED_USED, MAPPED_STACKS, MAPPED_RESERVED, MAPPED_PARTS };

/* What was mapped, without stacks of threads and rows of more than was ever resident: address
 * space, of which at most a part was used.  It would hide all else.  Each part has room for all
 * rows. */
static void divide_mapped(const struct selection *sel, struct select_part parts[MAPPED_PARTS])
{
        bool *stacks = reserve_stacks(sel->profile);

        for (uint32_t i = 0; i < sel->mapped.count; i++) {
                const struct select_row *row = &sel->mapped.rows[i];
                bool is_held = (sel->cost == SELECT_PEAK || sel->cost == SELECT_LIVE) &&
                               (int64_t)row->bytes > 0;
                struct select_part *part =
                        &parts[is_held && stacks[row->site]                         ? MAPPED_STACKS
                               : is_held && reserve_is(sel->profile, row->bytes) ? MAPPED_RESERVED
                                                                                 : MAPPED_USED];

                part->rows[part->count++] = *row;
                part->total_bytes += row->bytes;
                part->total_count += row->count;
        }
        free(stacks);
}

void tree_write(const struct selection *sel, struct symbols *s, const struct tree_options *options,
                struct str *out)
{
        struct select_part parts[MAPPED_PARTS] = { 0 }, *used = &parts[MAPPED_USED];
        bool first;

        for (uint32_t i = 0; i < MAPPED_PARTS; i++)
                parts[i].rows = heap_zero(sel->mapped.count, sizeof *parts[i].rows);
        divide_mapped(sel, parts);
        first = (int64_t)used->total_bytes > 0 && profile_is_mostly_mapped(sel->profile) &&
                (sel->cost == SELECT_PEAK || sel->cost == SELECT_LIVE);
        if (first) {
                tree_part(sel, used, s, options, mapped_heading(sel), out);
                str_char(out, '\n');
        }
        tree_part(sel, &sel->heap, s, options, sel->heading, out);
        if (!first)
                tree_next(sel, used, s, options, mapped_heading(sel), out);
        tree_next(sel, &parts[MAPPED_STACKS], s, options,
                  "address space of threads' stacks, of which each uses a little", out);
        tree_next(sel, &parts[MAPPED_RESERVED], s, options,
                  "address space reserved by mmap, more than was ever resident", out);
        for (uint32_t i = 0; i < MAPPED_PARTS; i++)
                free(parts[i].rows);
}
