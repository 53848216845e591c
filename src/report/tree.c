/* SPDX-License-Identifier: MIT */
/*
 * tree.c -- calls as a tree with the share of each line.
 *
 * Keeps:  each line of a function is a line of the tree, once in its level.  A level's shares and its summed rest add up
 *         to the line above it: what that one allocates itself beside its calls is "(itself)" among them.
 * Cost:   names are asked for only below lines that are shown; lines are compared by number.
 *
 * The tree is never built whole.  A level is a list of items, each a frame of one node of the stack tree; items of one
 * line of a function form a group, which is a line.  A line's own level is made when it has been printed.
 */
#include "report/views.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "query/function.h"
#include "words/label.h"
#include "words/text.h"

enum { TREE_INDENT_MAX = 120 }; /* columns; recursion may be thousands deep.  On a terminal 2/5 of it at most */

/* What comes below an item: its callees or callers, nothing, and nothing because it is a part of the line above. */
enum tree_end { TREE_GOES_ON, TREE_FINAL, TREE_ITSELF };

struct tree_item {
        uint32_t node;  /* of the selection's tree */
        uint16_t level; /* which of the frames at the node, 0 innermost */
        uint16_t end;   /* enum tree_end */
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
        struct symbols *symbols;
        const struct tree_options *options;
        struct str *out;
        struct function_table functions;
        uint32_t *group_of; /* by tree_item_key(): group + 1 in the level being made */
        uint32_t group_of_room;
        uint64_t *bytes, *count; /* per node, with all below; top-down only */
        uint16_t *own_level;     /* per node: the frame that its own allocations are shown at; top-down only */
        uint32_t *child_first, *children;
        uint32_t *item_of; /* by node: item + 1 in the level being made; inverted only */
        int64_t whole;
        struct tree_level *levels; /* the path to the line being printed */
        uint32_t depth, level_room;
        struct str prefix;
};

static uint32_t tree_frames(struct tree *t, uint32_t node, const struct symbol_frame **frames)
{
        return symbols_node(t->symbols, select_origin(t->sel, node), frames);
}

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

/* Sums of each node with everything below it; a parent's number is smaller than its child's. */
static void tree_sum(struct tree *t, const struct select_part *part)
{
        uint32_t nodes = t->sel->node_count;

        t->bytes = heap_zero(nodes, sizeof *t->bytes);
        t->count = heap_zero(nodes, sizeof *t->count);
        t->own_level = heap_zero(nodes, sizeof *t->own_level);
        for (uint32_t i = 0; i < part->count; i++) {
                const struct select_row *row = &part->rows[i];

                if (select_weight(t->sel, row->bytes, row->count) <= 0)
                        continue;
                t->bytes[row->node] += row->bytes;
                t->count[row->node] += row->count;
                t->own_level[row->node] = (uint16_t)row->level;
        }
        for (uint32_t i = nodes; i-- > 2;) {
                t->bytes[select_parent(t->sel, i)] += t->bytes[i];
                t->count[select_parent(t->sel, i)] += t->count[i];
        }
}

/* children[child_first[n] ... child_first[n + 1]) are those of node n that have a cost. */
static void tree_list_children(struct tree *t)
{
        uint32_t nodes = t->sel->node_count, *fill;

        t->child_first = heap_zero((size_t)nodes + 2, sizeof *t->child_first);
        fill = t->child_first + 1;
        for (uint32_t i = 2; i < nodes; i++)
                if (select_weight(t->sel, t->bytes[i], t->count[i]) > 0)
                        fill[select_parent(t->sel, i) + 1]++;
        for (uint32_t i = 1; i <= nodes; i++)
                t->child_first[i + 1] += t->child_first[i];
        t->children = heap_zero(t->child_first[nodes + 1], sizeof *t->children);
        for (uint32_t i = 2; i < nodes; i++)
                if (select_weight(t->sel, t->bytes[i], t->count[i]) > 0)
                        t->children[fill[select_parent(t->sel, i)]++] = i;
}

/* Add the frame LEVEL of NODE.  What the innermost one that is shown allocates itself is an item of its own. */
static void level_add_frame(struct tree *t, struct tree_level *l, uint32_t node, uint16_t level)
{
        uint16_t at = t->own_level[node];
        struct tree_item own = { node, at, TREE_FINAL, t->bytes[node], t->count[node] };
        struct tree_item passed = { node, level, TREE_GOES_ON, 0, 0 };

        for (uint32_t i = t->child_first[node]; i < t->child_first[node + 1]; i++) {
                passed.bytes += t->bytes[t->children[i]];
                passed.count += t->count[t->children[i]];
        }
        own.bytes -= passed.bytes;
        own.count -= passed.count;
        if (level > at) {
                passed.bytes += own.bytes;
                passed.count += own.count;
        } else if (level == at && select_weight(t->sel, own.bytes, own.count) > 0) {
                level_add(l, own);
        }
        if (select_weight(t->sel, passed.bytes, passed.count) > 0)
                level_add(l, passed);
}

static void level_add_node(struct tree *t, struct tree_level *l, uint32_t node)
{
        const struct symbol_frame *frames;
        uint32_t count = tree_frames(t, node, &frames);

        level_add_frame(t, l, node, (uint16_t)(count - 1));
}

/* One step towards the allocation. */
static void level_add_inner(struct tree *t, struct tree_level *l, const struct tree_item *item)
{
        if (item->end != TREE_GOES_ON)
                return;
        if (item->level) {
                level_add_frame(t, l, item->node, (uint16_t)(item->level - 1));
                return;
        }
        for (uint32_t i = t->child_first[item->node]; i < t->child_first[item->node + 1]; i++)
                level_add_node(t, l, t->children[i]);
}

/* Whether nothing but start code is left from NODE outwards. */
static bool tree_is_start(struct tree *t, uint32_t node)
{
        return symbols_hides(t->symbols, select_origin(t->sel, node));
}

/* One step away from the allocation; items that meet at one frame become one. */
static void level_add_outer(struct tree *t, struct tree_level *l, const struct tree_item *item)
{
        struct tree_item outer = { item->node, (uint16_t)(item->level + 1), TREE_GOES_ON, item->bytes, item->count };
        const struct symbol_frame *frames;
        uint32_t known;

        if (outer.level >= tree_frames(t, item->node, &frames)) {
                outer.node = select_parent(t->sel, item->node);
                outer.level = 0;
        }
        if (outer.node <= 1 || (!outer.level && tree_is_start(t, outer.node)))
                return;
        known = t->item_of[outer.node];
        if (known && known <= l->item_count && l->items[known - 1].node == outer.node &&
            l->items[known - 1].level == outer.level) {
                l->items[known - 1].bytes += outer.bytes;
                l->items[known - 1].count += outer.count;
                return;
        }
        level_add(l, outer);
        t->item_of[outer.node] = l->item_count;
}

/* The outermost level, without start code: what that allocated itself stays, as a line without callees. */
static void level_add_roots(struct tree *t, struct tree_level *l, uint32_t root)
{
        uint32_t *open = heap_zero(t->sel->node_count, sizeof *open), count = 0;

        open[count++] = root;
        while (count) {
                uint32_t node = open[--count];
                struct tree_item own = { node, 0, TREE_FINAL, t->bytes[node], t->count[node] };

                if (node > 1 && !tree_is_start(t, node)) {
                        level_add_node(t, l, node);
                        continue;
                }
                for (uint32_t i = t->child_first[node]; i < t->child_first[node + 1]; i++) {
                        own.bytes -= t->bytes[t->children[i]];
                        own.count -= t->count[t->children[i]];
                        open[count++] = t->children[i];
                }
                if (select_weight(t->sel, own.bytes, own.count) > 0)
                        level_add(l, own);
        }
        free(open);
}

static void level_add_callers(struct tree *t, struct tree_level *l, const struct select_part *part)
{
        for (uint32_t i = 0; i < part->count; i++) {
                const struct select_row *row = &part->rows[i];

                if (select_weight(t->sel, row->bytes, row->count) > 0)
                        level_add(l, (struct tree_item){ row->node, (uint16_t)row->level, TREE_GOES_ON, row->bytes,
                                                         row->count });
        }
}

static const struct symbol_frame *tree_item_frame(struct tree *t, const struct tree_item *item)
{
        const struct symbol_frame *frames;

        tree_frames(t, item->node, &frames);
        return &frames[item->level];
}

static void tree_group_room(struct tree *t, uint32_t key)
{
        uint32_t room = t->group_of_room;

        if (key < room)
                return;
        while (room <= key)
                room = room ? room * 2 : 1024;
        t->group_of = heap_grow(t->group_of, room, sizeof *t->group_of);
        memset(t->group_of + t->group_of_room, 0, (room - t->group_of_room) * sizeof *t->group_of);
        t->group_of_room = room;
}

/* Equal for items that are one line.  A recursive call is another line than what the line above allocates itself. */
static uint32_t tree_item_key(struct tree *t, const struct tree_item *item)
{
        uint32_t number = function_number(&t->functions, t->sel->profile, select_origin(t->sel, item->node),
                                          tree_item_frame(t, item));

        return 2 * number + (item->end == TREE_ITSELF);
}

/* Number the groups of L, one group number per item; sums and counts are filled on the way. */
static void level_number(struct tree *t, struct tree_level *l, uint32_t *numbers)
{
        uint32_t *keys = heap_zero(l->item_count, sizeof *keys);

        for (uint32_t i = 0; i < l->item_count; i++) {
                const struct tree_item *item = &l->items[i];
                struct tree_group *group;

                keys[i] = tree_item_key(t, item);
                tree_group_room(t, keys[i]);
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
        while (l->visible < l->group_count && (!t->options->limit || l->visible < t->options->limit) &&
               100.0 * (double)l->groups[l->visible].weight >= t->options->threshold * (double)t->whole)
                l->visible++;
}

static void tree_amount(struct tree *t, uint64_t bytes, uint64_t count)
{
        str_char(t->out, '(');
        if (t->sel->cost != SELECT_TEMPORARY) {
                text_number(t->out, (int64_t)bytes);
                str_text(t->out, "B, ");
        }
        text_number(t->out, (int64_t)count);
        str_text(t->out, "x)");
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
        tree_amount(t, bytes, count);
}

static void tree_print(struct tree *t, const struct tree_level *l, const struct tree_group *group)
{
        const struct tree_item *item = &l->items[group->first];
        const struct symbol_frame *frame = tree_item_frame(t, item);

        size_t start = t->out->length, used;

        tree_line_start(t, group->bytes, group->calls);
        str_text(t->out, ": ");
        if (item->end == TREE_ITSELF) {
                str_text(t->out, "(itself)\n");
                return;
        }
        used = t->out->length - start - (t->options->color ? strlen("\033[" TEXT_BOLD "m\033[0m") : 0);
        label_fit(t->sel->profile, select_origin(t->sel, item->node), frame,
                  t->options->columns > used ? t->options->columns - used : t->options->columns ? 1 : 0,
                  t->options->color, t->out);
        str_char(t->out, '\n');
}

static void tree_print_rest(struct tree *t, const struct tree_level *l)
{
        uint64_t bytes = 0, count = 0;
        bool all_small = 100.0 * (double)l->groups[l->visible].weight < t->options->threshold * (double)t->whole;

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

/* What the line of GROUP allocates itself, if it also has callees: a part of it, as those are. */
static void level_add_itself(struct tree_level *l, const struct tree_level *above, const struct tree_group *group)
{
        const struct tree_item *items = &above->items[group->first];

        if (!l->item_count)
                return;
        for (uint32_t i = 0; i < group->count; i++)
                if (items[i].end == TREE_FINAL) {
                        level_add(l, items[i]);
                        l->items[l->item_count - 1].end = TREE_ITSELF;
                }
}

/* A line was printed: make the level below it.  LAST: no line of its own level follows. */
static void tree_descend(struct tree *t, const struct tree_group *group, bool last)
{
        struct tree_level *below = tree_push(t);
        const struct tree_level *above = &t->levels[t->depth - 2];

        if (t->prefix.length < (t->options->columns ? t->options->columns * 2 / 5 : TREE_INDENT_MAX))
                str_text(&t->prefix, last ? "  " : "| ");
        for (uint32_t i = 0; i < group->count; i++) {
                const struct tree_item *item = &above->items[group->first + i];

                if (t->options->inverted)
                        level_add_outer(t, below, item);
                else
                        level_add_inner(t, below, item);
        }
        level_add_itself(below, above, group);
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
                int64_t weight = select_weight(t->sel, part->rows[i].bytes, part->rows[i].count);

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
                t->item_of = heap_zero(t->sel->node_count, sizeof *t->item_of);
                level_add_callers(t, top, part);
        } else {
                tree_sum(t, part);
                tree_list_children(t);
                level_add_roots(t, top, 0);
                level_add_roots(t, top, 1);
        }
        level_finish(t, top);
}

static void tree_part(const struct selection *sel, const struct select_part *part, struct symbols *s,
                      const struct tree_options *options, const char *heading, struct str *out)
{
        struct tree t = { .sel = sel, .symbols = s, .options = options, .out = out };

        tree_head(&t, part, heading);
        str_text(&t.prefix, "  ");
        if (t.whole > 0) {
                tree_first_level(&t, part);
                tree_walk(&t);
        }
        free(t.group_of);
        free(t.bytes);
        free(t.count);
        free(t.own_level);
        free(t.child_first);
        free(t.children);
        free(t.item_of);
        free(t.levels);
        str_free(&t.prefix);
        function_free(&t.functions);
}

void tree_write(const struct selection *sel, struct symbols *s, const struct tree_options *options, struct str *out)
{
        const char *heading = "mapped by mmap";

        tree_part(sel, &sel->heap, s, options, sel->heading, out);
        if ((int64_t)sel->mapped.total_bytes <= 0 || sel->cost == SELECT_TEMPORARY)
                return;
        if (sel->cost == SELECT_PEAK || sel->moment == SELECT_OF_PEAK)
                heading = "mapped by mmap, at the peak of the heap";
        else if (sel->cost == SELECT_LIVE && sel->moment != SELECT_OF_RANGE)
                heading = "mapped by mmap, live";
        str_char(out, '\n');
        tree_part(sel, &sel->mapped, s, options, heading, out);
}
