/* SPDX-License-Identifier: MIT */
/*
 * branch.h -- a tree that grows: a node is found by its parent and a number.
 *
 * Room:   outside.  Trees of call stacks: the number is that of a frame.
 * Keeps:  nodes are numbered in the order in which they came, the roots first; a parent's number is
 *         smaller than its child's.
 * Cost:   20 bytes a node.  Children of one parent are near in memory, so that trees with few of
 *         them are made without the cache misses of a hash.
 */
#ifndef SEEP_QUERY_BRANCH_H
#define SEEP_QUERY_BRANCH_H

#include <stdint.h>

#include "base/table.h"

struct branches_node {
        uint32_t parent, frame;
        uint32_t first, next; /* its last child, and the one before this of the same parent; 0
                               * none */
        uint32_t children;    /* how many: of many, they are in the table too */
};

struct branches {
        struct branches_node *list;
        uint32_t count, room;
        struct table table;
};

/* ROOTS nodes without a parent, at least one: 0 is nobody's child.  EXPECTED nodes or more will
 * come. */
void branches_start(struct branches *b, uint32_t roots, uint32_t expected);

/* The child of PARENT with this FRAME; when there was none, it is the last node now. */
uint32_t branches_child(struct branches *b, uint32_t parent, uint32_t frame);
void branches_free(struct branches *b);

/* No child is asked for any more. */
void branches_settle(struct branches *b);

#endif
