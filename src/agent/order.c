/* SPDX-License-Identifier: MIT */
/*
 * order.c -- numbers in the order of their keys.
 *
 * Keeps:  a full node is split on the way down, so an insertion never goes back up, and one that
 *         finds no memory leaves a tree that is right.
 */
#include "agent/order.h"

#include <stddef.h>

#include "agent/guest.h"

#define ORDER_FEW (ORDER_FAN / 4)
#define ORDER_MERGED (ORDER_FAN / 4 * 3)
#define ORDER_LINE 64u

static struct order_node *node_at(const struct order *o, uint32_t number)
{
        return &o->room->nodes[number];
}

/* How many keys of N are up to KEY.  A sum instead of a branch that nobody can foresee. */
static uint32_t keys_up_to(const struct order_node *n, uint64_t key)
{
        uint32_t low = 0;

        for (uint32_t left = n->count; left; left -= (left + 1) / 2)
                low += (n->key[low + (left - 1) / 2] <= key) * ((left + 1) / 2);
        return low;
}

/* All lines of a leaf at once: it is seldom in the cache, and a search in it would wait
 * for one after the other. */
static const struct order_node *fetched(const struct order_node *n, uint32_t level)
{
        if (level == 1)
                for (uint32_t i = 0; i < sizeof *n; i += ORDER_LINE)
                        __builtin_prefetch((const char *)n + i);
        return n;
}

/* Which child of the inner node N may have KEY. */
static uint32_t child_for(const struct order_node *n, uint64_t key)
{
        uint32_t i = keys_up_to(n, key);

        return i ? i - 1 : 0;
}

static void open_gap(struct order_node *n, uint32_t at, uint64_t key, uint32_t value)
{
        for (uint32_t i = n->count++; i > at; i--) {
                n->key[i] = n->key[i - 1];
                n->value[i] = n->value[i - 1];
        }
        n->key[at] = key;
        n->value[at] = value;
}

static void close_gap(struct order_node *n, uint32_t at)
{
        n->count--;
        for (uint32_t i = at; i < n->count; i++) {
                n->key[i] = n->key[i + 1];
                n->value[i] = n->value[i + 1];
        }
}

/* ---- nodes ---- */

/* 1 + the number of an empty node; 0 there is no memory. */
static uint32_t node_new(struct order_room *room)
{
        uint32_t number = room->unused;

        if (number) {
                room->unused = (uint32_t)room->nodes[number - 1].unused;
        } else {
                if (room->made == UINT32_MAX - 1 || !room->more(room->made + 1))
                        return 0;
                number = ++room->made;
        }
        room->nodes[number - 1].count = 0;
        return number;
}

static void node_put_back(struct order_room *room, uint32_t number)
{
        room->nodes[number].unused = room->unused;
        room->unused = number + 1;
}

/* How much of the full node N stays in it when KEY makes two of it.  Keys that come in their order,
 * or the reverse, leave full ones behind. */
static uint32_t part_kept(const struct order_node *n, uint64_t key)
{
        if (key < n->key[1])
                return ORDER_FAN / 8;
        return key > n->key[ORDER_FAN - 1] ? ORDER_FAN - ORDER_FAN / 8 : ORDER_FAN / 2;
}

/* Child AT of PARENT, which has room, becomes two for the sake of KEY. */
static bool split_child(struct order *o, struct order_node *parent, uint32_t at, uint64_t key)
{
        struct order_node *full = node_at(o, parent->value[at]), *half;
        uint32_t number = node_new(o->room), keep = part_kept(full, key);

        if (!number)
                return false;
        half = node_at(o, number - 1);
        for (uint32_t i = keep; i < full->count; i++) {
                half->key[i - keep] = full->key[i];
                half->value[i - keep] = full->value[i];
        }
        half->count = full->count - keep;
        full->count = keep;
        open_gap(parent, at + 1, half->key[0], number - 1);
        return true;
}

/* Child AT + 1 of PARENT goes into child AT, which has room for it.  Its first key
 * is looked at from now on. */
static void merge_children(struct order *o, struct order_node *parent, uint32_t at, bool leaves)
{
        uint32_t number = parent->value[at + 1];
        struct order_node *left = node_at(o, parent->value[at]), *right = node_at(o, number);

        if (!leaves)
                right->key[0] = parent->key[at + 1];
        for (uint32_t i = 0; i < right->count; i++) {
                left->key[left->count] = right->key[i];
                left->value[left->count++] = right->value[i];
        }
        close_gap(parent, at + 1);
        node_put_back(o->room, number);
}

/* ---- insertion ---- */

static bool grow_root(struct order *o, uint64_t key)
{
        uint32_t number = o->levels < ORDER_LEVELS ? node_new(o->room) : 0;
        struct order_node *root;

        if (!number)
                return false;
        root = node_at(o, number - 1);
        open_gap(root, 0, 0, o->root - 1);
        if (!split_child(o, root, 0, key)) {
                node_put_back(o->room, number - 1);
                return false;
        }
        o->root = number;
        o->levels++;
        return true;
}

bool order_insert(struct order *o, uint64_t key, uint32_t value)
{
        struct order_node *n;

        if (!o->root)
                o->root = node_new(o->room);
        if (!o->root || (node_at(o, o->root - 1)->count == ORDER_FAN && !grow_root(o, key)))
                return false;
        n = node_at(o, o->root - 1);
        for (uint32_t level = o->levels; level; level--) {
                uint32_t at = child_for(n, key);

                if (node_at(o, n->value[at])->count == ORDER_FAN) {
                        if (!split_child(o, n, at, key))
                                return false;
                        at += n->key[at + 1] <= key;
                }
                n = node_at(o, n->value[at]);
        }
        open_gap(n, keys_up_to(n, key), key, value);
        return true;
}

/* ---- removal ---- */

/* Child AT of PARENT has lost an entry.  Whether PARENT has lost one by it. */
static bool mend_child(struct order *o, struct order_node *parent, uint32_t at, bool leaf)
{
        struct order_node *n = node_at(o, parent->value[at]);
        uint32_t before, behind;

        if (n->count >= ORDER_FEW)
                /* Its neighbours are not even looked at, which are not in the cache. */
                return false;
        before = at ? node_at(o, parent->value[at - 1])->count : ORDER_FAN;
        behind = at + 1 < parent->count ? node_at(o, parent->value[at + 1])->count : ORDER_FAN;
        if (at && (!n->count || n->count + before <= ORDER_MERGED)) {
                merge_children(o, parent, at - 1, leaf);
        } else if (at + 1 < parent->count && (!n->count || n->count + behind <= ORDER_MERGED)) {
                merge_children(o, parent, at, leaf);
        } else if (!n->count) { /* an only child */
                node_put_back(o->room, parent->value[at]);
                parent->count = 0;
        } else {
                return false;
        }
        return true;
}

static void shrink_root(struct order *o)
{
        while (o->levels && node_at(o, o->root - 1)->count <= 1) {
                uint32_t old = o->root - 1, left = node_at(o, old)->count;

                o->root = left ? node_at(o, old)->value[0] + 1 : 0;
                o->levels = left ? o->levels - 1 : 0;
                node_put_back(o->room, old);
        }
}

bool order_remove(struct order *o, uint64_t key)
{
        struct order_node *path[ORDER_LEVELS + 1], *n = o->root ? node_at(o, o->root - 1) : NULL;
        uint32_t at[ORDER_LEVELS + 1], depth = 0, i;

        if (!n)
                return false;
        for (; depth < o->levels; depth++) {
                path[depth] = n;
                at[depth] = child_for(n, key);
                n = node_at(o, n->value[at[depth]]);
        }
        i = keys_up_to(n, key);
        if (!i || n->key[i - 1] != key)
                return false;
        close_gap(n, i - 1);
        while (depth && mend_child(o, path[depth - 1], at[depth - 1], depth == o->levels))
                depth--;
        shrink_root(o);
        return true;
}

/* ---- search ---- */

static struct order_entry entry_of(const struct order_node *n, uint32_t at)
{
        return (struct order_entry){ n->key[at], n->value[at] };
}

/* The first or the last entry below N, which is so many LEVELs above the leaves. */
static struct order_entry entry_at_end(const struct order *o, const struct order_node *n,
                                       uint32_t level, bool last)
{
        for (; level; level--)
                n = node_at(o, n->value[last ? n->count - 1 : 0]);
        return entry_of(n, last ? n->count - 1 : 0);
}

uint32_t order_around(const struct order *o, uint64_t key, struct order_entry *below,
                      struct order_entry *above)
{
        const struct order_node *n = o->root ? node_at(o, o->root - 1) : NULL, *before = NULL,
                                *behind = NULL;
        uint32_t before_level = 0, behind_level = 0, i;

        if (!n)
                return 0;
        for (uint32_t level = o->levels; level; level--) {
                i = child_for(n, key);
                if (i) {
                        before = node_at(o, n->value[i - 1]);
                        before_level = level - 1;
                }
                if (i + 1 < n->count) {
                        behind = node_at(o, n->value[i + 1]);
                        behind_level = level - 1;
                }
                n = fetched(node_at(o, n->value[i]), level);
        }
        i = keys_up_to(n, key);
        if (i)
                *below = entry_of(n, i - 1);
        else if (before)
                *below = entry_at_end(o, before, before_level, true);
        if (i < n->count)
                *above = entry_of(n, i);
        else if (behind)
                *above = entry_at_end(o, behind, behind_level, false);
        return (i || before ? ORDER_BELOW : 0) | (i < n->count || behind ? ORDER_ABOVE : 0);
}
