/* SPDX-License-Identifier: MIT */
/*
 * brief.h -- a call stack in the rest of a line: the function that counts, its place, and its caller where that fits.
 */
#ifndef SEEP_REPORT_BRIEF_H
#define SEEP_REPORT_BRIEF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "names/symbol.h"
#include "profile/model.h"
#include "query/verdict.h"

enum { BRIEF_COLUMNS = 80 };

struct brief {
        const struct profile *profile;
        struct symbols *symbols;
        struct str *out;
        size_t reserved; /* columns at the end of the line that callers must leave free */
        size_t columns;  /* of the line; 0: BRIEF_COLUMNS */
        struct verdicts *known; /* which functions are passed over, for callers with many lines; NULL: found out each time */
};

/* A frame that is named: which of those at NODE of the profile, 0 innermost. */
struct brief_place {
        uint32_t node, level;
        bool bare; /* of the C library: without file and line, those of its caller count */
};
enum { BRIEF_PLACES = 2 };

/* The frames that are named, the inner one first; returns how many. */
uint32_t brief_places(const struct brief *b, uint32_t node, struct brief_place places[BRIEF_PLACES]);

/* Append to the line that begins at START of the output "function file:line", and "<- " with the caller's where that
 * fits.  Library machinery is passed over where something else follows; of the C library, its caller counts. */
void brief_stack(struct brief *b, uint32_t node, size_t start);

#endif
