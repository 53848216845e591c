/* SPDX-License-Identifier: MIT */
/*
 * types.h -- the heap by type: what the blocks of a selection are, and how that is known.
 *
 * A block's own contents tell best (an object begins with a pointer to its table of virtual
 * functions).  Then the call stack does, where a container or make_unique<T> allocated; then the
 * source line of the call; last, the pointer that holds the block.
 *
 * Keeps:  rows add up to the selection.  What is not known is a row of its own for each call stack.
 *         Single blocks are known at the end, and where a search was kept; of the peak and other
 *         moments only call stacks are, which have a type where all of their blocks have one.
 */
#ifndef SEEP_QUERY_TYPES_H
#define SEEP_QUERY_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "names/symbol.h"
#include "query/block_origin.h"
#include "query/select.h"

/* name, word in JSON and tables, in words */
#define TYPES_WAYS(X)                                                                              \
        X(NONE, "unknown", "")                                                                     \
        X(VTABLE, "vtable", "the objects' virtual functions")                                      \
        X(TEMPLATE, "template", "template arguments in the call stack")                            \
        X(FUNCTION, "function", "the function of the C library")                                   \
        X(SOURCE, "source", "the source line of the allocation")                                   \
        X(VARIABLE, "variable", "the variable declared in that line")                              \
        X(HOLDER, "holder", "the pointer that holds the block")                                    \
        X(ALIKE, "alike", "other blocks of the same call stack")

enum types_way {
#define TYPES_WAY_ENUM(name, word, text) TYPES_##name,
        TYPES_WAYS(TYPES_WAY_ENUM)
#undef TYPES_WAY_ENUM
        TYPES_WAY_COUNT
};

/* Bytes and blocks; differences where the selection is of a range. */
struct types_sum {
        uint64_t bytes, blocks;
};

struct types_row {
        const char *name; /* NULL: unknown, and all of SITE */
        uint32_t site;    /* the one with most of it ... */
        struct block_origin place; /* ... and who made its blocks */
        uint32_t sites;   /* how many there are */
        uint64_t size;    /* sizeof; 0 unknown */
        struct types_sum sum;
        struct types_sum by[TYPES_WAY_COUNT];
};

/* What one site has of a row. */
struct types_part {
        uint32_t row, site;
        struct block_origin place;
        struct types_sum sum;
};

struct types {
        const struct selection *sel;
        struct types_row *rows; /* the largest first */
        uint32_t count;
        struct types_part *parts; /* by row, the largest first */
        uint32_t part_count;
        struct types_sum all, known;
        bool blocks; /* block by block; else by call stacks */
        char **names; /* that rows have */
        uint32_t name_count;
};

/* SEL must be of single sites (each_site).  T is the caller's to types_free(). */
void types_make(struct types *t, const struct selection *sel, struct symbols *s);
void types_free(struct types *t);

const char *types_way_word(enum types_way way);
const char *types_way_text(enum types_way way);

/* The way that most of ROW is known by. */
enum types_way types_row_way(const struct types_row *row);

#endif
