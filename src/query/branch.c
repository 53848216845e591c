/* SPDX-License-Identifier: MIT */
#include "query/branch.h"

#include <stdlib.h>

#include "base/heap.h"

enum { BRANCH_FEW = 8 }; /* as long as a node has no more children than so many, they are looked through: they are near in memory */

void branches_start(struct branches *b, uint32_t roots, uint32_t expected)
{
        *b = (struct branches){ .count = roots, .room = roots + expected + 256 };
        b->list = heap_dense(b->room, sizeof *b->list);
}

static size_t branches_slot(const struct branches *b, uint32_t parent, uint32_t frame)
{
        uint64_t hash = ((uint64_t)parent << 32 | frame) * 0x9e3779b97f4a7c15ull;
        size_t i = (hash ^ hash >> 29) * 0xc2b2ae3d27d4eb4full >> 32 & (b->table_room - 1);

        while (b->table[i] && (b->list[b->table[i]].parent != parent || b->list[b->table[i]].frame != frame))
                i = (i + 1) & (b->table_room - 1);
        return i;
}

static void branches_enter(struct branches *b, uint32_t node)
{
        if ((b->table_count + 1) * 2 > b->table_room) {
                uint32_t *old = b->table;
                size_t room = b->table_room;

                b->table_room = room ? room * 2 : 1024;
                b->table = heap_zero(b->table_room, sizeof *b->table);
                for (size_t i = 0; i < room; i++)
                        if (old[i])
                                b->table[branches_slot(b, b->list[old[i]].parent, b->list[old[i]].frame)] = old[i];
                free(old);
        }
        b->table[branches_slot(b, b->list[node].parent, b->list[node].frame)] = node;
        b->table_count++;
}

/* 0: there is none yet. */
static uint32_t branches_find(const struct branches *b, uint32_t parent, uint32_t frame)
{
        uint32_t node = b->list[parent].first;

        if (b->list[parent].children > BRANCH_FEW)
                return b->table[branches_slot(b, parent, frame)];
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
        b->list[node] = (struct branches_node){ .parent = parent, .frame = frame, .next = of->first };
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
        free(b->table);
        b->table = NULL;
        b->table_count = b->table_room = 0;
}

void branches_free(struct branches *b)
{
        branches_settle(b);
        free(b->list);
        *b = (struct branches){ 0 };
}
