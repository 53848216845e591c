/* SPDX-License-Identifier: MIT */
/*
 * blocks.h -- each block that was not freed: address, size, time, age, thread, stack.
 *
 * Room:   outside.
 */
#ifndef SEEP_REPORT_BLOCKS_H
#define SEEP_REPORT_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "names/symbol.h"
#include "query/select.h"

struct blocks_options {
        const struct filter *filter; /* for threads; stacks were chosen by the selection.  NULL: all */
        bool oldest_first;           /* else the largest first */
        uint32_t limit;              /* 0: all */
        int color;
        bool csv;                    /* for programs */
};

/* Append the blocks of SEL's sites, then the regions of its mmap sites.  SEL must not be of merged stacks. */
void blocks_write(const struct selection *sel, struct symbols *s, const struct blocks_options *options,
                  struct str *out);

#endif
