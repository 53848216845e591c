/* SPDX-License-Identifier: MIT */
/*
 * order.h -- numbers in the order of their keys: a B+ tree whose memory somebody else provides.
 *
 * Room:   inside; one at a time per tree, never waits.
 * Keeps:  each key once.  No leaf but the only one is empty, and neighbours that
 *         both hold little become one.
 * Cost:   logarithmic: a binary search per level and moving at most 63 words in the leaf; three
 *         levels for 100,000 keys.
 */
#ifndef SEEP_AGENT_ORDER_H
#define SEEP_AGENT_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#define ORDER_FAN 63u
#define ORDER_LEVELS 8u

/* Above the leaves a value is the number of a node, and its key is below or equal to all that are
 * in that one; the first key is not looked at. */
struct order_node {
        uint64_t key[ORDER_FAN];
        uint32_t value[ORDER_FAN];
        uint32_t count;
        uint64_t unused; /* 1 + the next one that is not in use; the node is twelve cache lines */
};

/* What the trees of one family take their nodes from. */
struct order_room {
        struct order_node *nodes;
        uint32_t made;            /* nodes [0, made) were ever in use ... */
        uint32_t unused;          /* ... of which these are not, in a list; 1 + the first one */
        bool (*more)(uint32_t n); /* see to it that the first N nodes can be written */
};

/* Zero but for ROOM: empty. */
struct order {
        struct order_room *room;
        uint32_t root;   /* 1 + its number; 0 none yet */
        uint32_t levels; /* above the leaves */
};

struct order_entry {
        uint64_t key;
        uint32_t value;
};

/* KEY is not in it.  False: there is no memory, and nothing has changed. */
bool order_insert(struct order *o, uint64_t key, uint32_t value);

/* False: it was not there. */
bool order_remove(struct order *o, uint64_t key);

/* The entries next to KEY: BELOW has the largest key up to it, ABOVE the smallest behind it.
 * Returns which of them there are. */
#define ORDER_BELOW 1u
#define ORDER_ABOVE 2u
uint32_t order_around(const struct order *o, uint64_t key, struct order_entry *below,
                      struct order_entry *above);

#endif
