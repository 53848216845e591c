/* SPDX-License-Identifier: MIT */
/*
 * owners.h -- the heap by owner: what would go away with each variable, stack frame, mapping; or with the blocks of a call stack.
 *
 * Room:   outside.
 */
#ifndef SEEP_REPORT_OWNERS_H
#define SEEP_REPORT_OWNERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "profile/model.h"
#include "symbol/symbol.h"

struct owners_options {
        bool sites; /* by call stack instead of by owner */
        uint32_t limit; /* 0: a screenful (as JSON: all) */
        bool json;
        int color;
        uint32_t columns; /* of the terminal, for which names are shortened; 0: whole names */
};

/* P must have a graph (why_possible). */
void owners_write(const struct profile *p, struct symbols *s, const struct owners_options *o, struct str *out);

#endif
