/* SPDX-License-Identifier: MIT */
/*
 * owners.h -- the heap by owner: what would be freed with each variable, stack frame, mapping; or
 * with the blocks of a call stack.
 */
#ifndef SEEP_QUERY_OWNERS_H
#define SEEP_QUERY_OWNERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "base/table.h"
#include "leak/graph.h"
#include "names/symbol.h"
#include "profile/model.h"
#include "query/root_name.h"

struct owners_options {
        bool sites; /* by call stack instead of by owner */
        uint32_t limit; /* 0: a screenful (as JSON: all) */
        bool json;
        int color;
        uint32_t columns; /* of the terminal, for which names are shortened; 0: whole names */
};

struct owner {
        struct root_name root_name; /* of the first pointer that belongs to it */
        struct root_name_key key;
        uint64_t pointers;
        struct graph_sum own;  /* blocks that it points to itself */
        struct graph_sum kept; /* what would go away with it */
        uint32_t number; /* before the list was sorted */
};

/* What hangs on blocks of one call stack that several owners hold. */
struct owners_part {
        uint32_t block; /* the one that most hangs on */
        uint32_t site;
        uint32_t heads; /* such blocks */
        struct graph_sum kept;
        uint32_t *holders; /* of that block: indices into the list of owners, the largest first */
        uint32_t count;
};

struct owners {
        const struct profile *p;
        struct symbols *s;
        const struct owners_options *o;
        struct str *out;
        struct graph *graph;
        struct graph_sum all; /* the heap */
        struct owner *list;  /* the one that keeps most first */
        uint32_t count;
        uint32_t keeping;    /* of them keep something alone */
        struct graph_retained retained; /* what they share, what is ignored, what is lost;
                                         * and what was wished for */
        uint32_t *place;    /* by the number that an owner got first: where it is in the
                             * list when that is sorted */
        struct owners_part *parts; /* of what is shared: the largest */
        uint32_t part_count;
        struct table table;
};

/* P must have a graph (why_possible).  W is the caller's to owners_free().  START: without the
 * owners, for what hangs on call stacks. */
void owners_start(struct owners *w, const struct profile *p, struct symbols *s);
void owners_make(struct owners *w, const struct profile *p, struct symbols *s,
                 const struct graph_wish *wish);
void owners_free(struct owners *w);

/* For qsort(): the one that keeps more first. */
int owners_compare(const struct graph_sum *a, const struct graph_sum *b);

#endif
