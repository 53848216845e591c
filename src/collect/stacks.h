/* SPDX-License-Identifier: MIT */
/*
 * stacks.h -- the stack tree of a ledger, in canonical order.
 *
 * Keeps:  in the result each (parent, pc, module, exact) is there once, parents before children.
 * Cost:   2 ns a node when one thread made the tree, else 40 ns: the agent enters a pair twice only
 *         when two threads meet it at once.
 */
#ifndef SEEP_COLLECT_STACKS_H
#define SEEP_COLLECT_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/table.h"
#include "collect/view.h"
#include "profile/model.h"

struct stacks {
        bool alone; /* one thread made the tree and all of it is kept: it is
                     * canonical already, numbers stay */
        struct ledger_node *raw;
        uint32_t raw_count;
        const struct profile *p; /* its modules: where they are, or were last, is what
                                  * addresses of the result are of */
        uint32_t own;    /* 1 + the agent's own module, whose frames are left out; 0 none */
        uint32_t depth;  /* keep this many innermost frames; 0 all */
        uint32_t *known; /* by raw node: 1 + node of the result, 0 not asked for yet */
        uint32_t *path;  /* scratch: raw nodes from the innermost outwards */

        struct profile_node *node;
        uint32_t node_count;
        struct table table;
};

/* P has its modules already. */
void stacks_open(struct stacks *s, const struct view *v, const struct profile *p, uint32_t depth);

/* The node of the result that stands for RAW; a node that does not exist is the root of cut-off
 * stacks. */
uint32_t stacks_node(struct stacks *s, uint32_t raw);

/* The way from each raw node to stacks_node() of it; without ALL only for those that were asked
 * for, 0 for the others.  The caller's to free(). */
uint32_t *stacks_map(struct stacks *s, bool all, uint32_t *count);

/* Give the nodes to P and release the rest. */
void stacks_close(struct stacks *s, struct profile *p);

#endif
