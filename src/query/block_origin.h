/* SPDX-License-Identifier: MIT */
/*
 * block_origin.h -- the origin of a block in one name: the innermost function that is neither a
 * wrapper nor part of a library's allocator.
 *
 * Room:   outside.  For lists with one line per block.
 */
#ifndef SEEP_QUERY_BLOCK_ORIGIN_H
#define SEEP_QUERY_BLOCK_ORIGIN_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "names/symbol.h"
#include "profile/model.h"
#include "query/wrapper.h"

struct block_origin {
        uint32_t node; /* of the profile; 0 no stack */
        const struct symbol_frame *frame;
};

/* Of SITE; one that is out of range has no stack. */
struct block_origin block_origin_of(const struct profile *p, struct symbols *s, uint32_t site);

/* The same for whoever asks of very many: W, zeroed at first, remembers functions. */
struct block_origin block_origin_again(const struct profile *p, struct symbols *s, uint32_t site,
                                       struct wrappers *w);

/* Append what was called and by whom, "strdup <- node_new [list.c:20] <- main [list.c:90]", where
 * the first is left out unless it is of the C library; in at most COLUMNS columns where that is
 * possible, for which the last gives way first.  0: no limit. */
void block_origin_calls(const struct profile *p, struct symbols *s, uint32_t site, size_t columns,
                        struct str *out);

/* Append "node_new [list.c:20]", in at most COLUMNS columns where that is possible; 0: no limit. */
void block_origin_write(const struct profile *p, struct block_origin block_origin, size_t columns,
                        struct str *out);

#endif
