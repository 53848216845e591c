/* SPDX-License-Identifier: MIT */
/*
 * type_blocks.h -- the type of each block of a recording, and of each call stack.
 *
 * Room:   outside, for types.h.
 */
#ifndef SEEP_QUERY_TYPE_BLOCKS_H
#define SEEP_QUERY_TYPE_BLOCKS_H

#include <stdint.h>

#include "base/lookup.h"
#include "base/table.h"
#include "names/symbol.h"
#include "profile/dense.h"
#include "profile/model.h"
#include "query/block_origin.h"
#include "query/types.h"
#include "types/variable.h"

/* A name, and how it is known. */
struct type_known {
        uint32_t name; /* 1 + index into names; 0 unknown */
        uint32_t way;  /* enum types_way */
        struct variable_type type; /* 0: debug information does not describe it */
};

struct type_blocks {
        const struct profile *p;
        struct symbols *s;
        struct type_known *sites;  /* by site */
        struct block_origin *places; /* by site: who made its blocks */
        uint32_t *blocks; /* by block: index into known (type_of_block) */
        struct type_known *known; /* all that differ; the first is unknown */
        uint32_t known_count;
        char **names;
        uint32_t name_count;

        /* private */
        struct table table;    /* of names */
        struct lookup by_type; /* of names: by type */
        struct lookup reached; /* types that pointers lead to: by type and place in it, 1 + number;
                                * 0 not asked yet */
        struct lookup numbers; /* of known: by name, way and type, 1 + index */

        /* while pointers are followed */
        struct dense dense;
        uint32_t *queue; /* blocks whose pointers are still to be */
        uint64_t queued;
        uint32_t *weak; /* by block: the number of a type, that only a pointer to bytes says */
};

static inline const struct type_known *type_of_block(const struct type_blocks *t, uint64_t block)
{
        return &t->known[t->blocks[block]];
}

/* WANTED by site: 1 where its type is asked for. */
void type_blocks_make(struct type_blocks *t, const struct profile *p, struct symbols *s,
                      const uint8_t *wanted);
void type_blocks_free(struct type_blocks *t);

#endif
