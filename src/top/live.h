/* SPDX-License-Identifier: MIT */
/*
 * live.h -- the view of a running process.
 *
 * Keeps:  names that were found stay found; blocks are asked for as often as that is cheap.
 */
#ifndef SEEP_TOP_LIVE_H
#define SEEP_TOP_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "names/symbol.h"
#include "profile/model.h"
#include "query/filter.h"
#include "top/picture.h"

struct live {
        const struct symbol_options *names;
        struct profile *p; /* NULL: no look yet */
        struct symbols *symbols;
        struct history history;
        uint32_t *numbers;
        struct filter *threads; /* NULL: all; of the caller, without expressions on names */
        bool need_blocks;       /* in each look: for threads and sizes */
        uint64_t blocks_due_ns; /* when the next look with blocks may be, for ages */
        bool fresh_names;       /* the resolver is another one than before the last look */
};

/* WIRE_LOOK_* for the next look. */
uint32_t live_flags(const struct live *l, uint64_t now_ns);

/* Take over a LOOK, which took COST_NS. */
void live_take(struct live *l, struct profile *look, uint32_t flags, uint64_t cost_ns);

/* The last look tells threads and sizes. */
bool live_has_blocks(const struct live *l);

/* Of other threads from now on: comparisons begin anew. */
void live_forget(struct live *l, struct filter *threads);

/* As it was at the last look; without a moment NOW where that does not tell what NEED_BLOCKS asks
 * for. */
struct picture live_picture(struct live *l);

void live_free(struct live *l);

#endif
