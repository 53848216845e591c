/* SPDX-License-Identifier: MIT */
/*
 * function.h -- small numbers for functions with their lines, so that reports compare integers
 * instead of names.
 */
#ifndef SEEP_QUERY_FUNCTION_H
#define SEEP_QUERY_FUNCTION_H

#include <stdint.h>

#include "base/table.h"
#include "names/symbol.h"
#include "profile/model.h"

struct function_key {
        uint64_t name;   /* the resolver's pointer; the address where there is no name */
        uint64_t file;   /* the resolver's pointer; 0 unknown */
        uint32_t line;
        uint32_t module; /* FUNCTION_NAMELESS added for an address */
};

struct function_table {
        struct function_key *keys; /* by number - 1 */
        uint32_t count;
        struct table table;
};

/* The number of FRAME, a frame at NODE.  Same line of the same function in the same module: same
 * number. */
uint32_t function_number(struct function_table *t, const struct profile *p, uint32_t node,
                         const struct symbol_frame *frame);

/* The same in two steps, for who means something else by "same": numbers are given in order. */
struct function_key function_key_of(const struct profile *p, uint32_t node,
                                    const struct symbol_frame *frame);
uint32_t function_key_number(struct function_table *t, const struct function_key *key);

void function_free(struct function_table *t);

#endif
