/* SPDX-License-Identifier: MIT */
/* flat.h -- one entry per call stack, with all its costs. */
#ifndef SEEP_REPORT_FLAT_H
#define SEEP_REPORT_FLAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "names/symbol.h"
#include "query/growth.h"
#include "query/leaks.h"
#include "query/select.h"
#include "query/sort.h"

struct flat_options {
        enum sort_key key;
        bool growing_first; /* those that grow, fastest first, then the others by key */
        uint32_t limit; /* 0: all */
        int color;
        const struct leaks *leaks; /* for the keys that are about leaks: what a search found */
};

/* growth_judge() where the selection allows it, else NULL; to be freed. */
struct growth *flat_judge(const struct selection *sel);

/* All rows of PART with which something happened, in the order of OPTIONS; to be freed.
 * GROWTH: by flat_judge(). */
const struct select_row **flat_order(const struct selection *sel, const struct select_part *part,
                                     const struct flat_options *options,
                                     const struct growth *growth, uint32_t *count);

/* Append the stacks whose key is not zero, largest first: the heap's, then those of mmap.  By
 * bad-frees: at last the releases of memory that no stack allocated. */
void flat_write(const struct selection *sel, struct symbols *s, const struct flat_options *options,
                struct str *out);

#endif
