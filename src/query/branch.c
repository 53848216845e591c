/* SPDX-License-Identifier: MIT */
#include "query/branch.h"

#include <stdlib.h>

#include "base/heap.h"

/* As long as a node has no more children than so many, they are looked through:
 * they are near in memory. */
enum { BRANCH_FEW = 8 };

void branches_start(struct branches *b, uint32_t roots, uint32_t expected)
{
        *b = (struct branches){ .count = roots, .room = roots + expected + 256 };
        b->list = heap_dense(b->room, sizeof *b->list);
}

/* Node 0 is nobody's child: those in the table are counted from 1. */
static struct table_slot *branches_slot(const struct branches *b, uint32_t parent, uint32_t frame)
{
        return TABLE_SLOT(&b->table, table_hash(parent, frame), n,
                          b->list[n + 1].parent == parent && b->list[n + 1].frame == frame);
}

static void branches_enter(struct branches *b, uint32_t node)
{
        const struct branches_node *n = &b->list[node];

        if ((uint64_t)b->table.count++ * 2 >= b->table.room)
                table_widen(&b->table);
        *branches_slot(b, n->parent, n->frame) = (struct table_slot){ table_hash(n->parent,
                                                                                 n->frame), node };
}

/* 0: there is none yet. */
static uint32_t branches_find(const struct branches *b, uint32_t parent, uint32_t frame)
{
        uint32_t node = b->list[parent].first;

        if (b->list[parent].children > BRANCH_FEW)
                return branches_slot(b, parent, frame)->number;
        while (node && b->list[node].frame != frame)
                node = b->list[node].next;
        return node;
}

uint32_t branches_child(struct branches *b, uint32_t parent, uint32_t frame)
{
        uint32_t node = branches_find(b, parent, frame);
        struct branches_node *of;

        if (node)
                return node;
        node = b->count++;
        if (node == b->room) {
                b->room += b->room / 2;
                b->list = heap_grow(b->list, b->room, sizeof *b->list);
        }
        of = &b->list[parent];
        b->list[node] = (struct branches_node){ .parent = parent, .frame = frame,
                                                .next = of->first };
        of->first = node;
        if (++of->children == BRANCH_FEW + 1)
                for (uint32_t i = node; i; i = b->list[i].next)
                        branches_enter(b, i);
        else if (of->children > BRANCH_FEW)
                branches_enter(b, node);
        return node;
}

void branches_settle(struct branches *b)
{
        table_free(&b->table);
}

void branches_free(struct branches *b)
{
        branches_settle(b);
        free(b->list);
        *b = (struct branches){ 0 };
}
