/* SPDX-License-Identifier: MIT */
/* tree.h -- calls as a tree with the share of each line. */
#ifndef SEEP_REPORT_TREE_H
#define SEEP_REPORT_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "names/symbol.h"
#include "query/select.h"

struct tree_options {
        bool inverted;     /* from the callers of the allocation functions outwards, instead of from main inwards */
        double threshold;  /* per cent of the whole; what is smaller is summed in one line */
        uint32_t limit;    /* lines per level; 0: all */
        int color;
        uint32_t columns; /* of the terminal: lines are shortened to fit where that is possible; 0: whole names */
};

/* Append the tree of the heap and, where something was mapped, that of mmap. */
void tree_write(const struct selection *sel, struct symbols *s, const struct tree_options *options, struct str *out);

#endif
