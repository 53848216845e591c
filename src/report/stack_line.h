/* SPDX-License-Identifier: MIT */
/*
 * stack_line.h -- a call stack in the rest of a line: the function that matters, its place, and its
 * caller where that fits.
 */
#ifndef SEEP_REPORT_STACK_LINE_H
#define SEEP_REPORT_STACK_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "names/symbol.h"
#include "profile/model.h"
#include "base/lookup.h"

enum { STACK_LINE_COLUMNS = 80 };

struct stack_line {
        const struct profile *profile;
        struct symbols *symbols;
        struct str *out;
        size_t reserved; /* columns at the end of the line that callers must leave free */
        size_t columns;  /* of the line; 0: STACK_LINE_COLUMNS */
        struct lookup *known; /* which functions are passed over, for callers with many lines;
                               * NULL: found out each time */
        bool whole; /* the innermost frames are named, whosever they are */
        size_t kept; /* as reserved, and what the first function must leave free, too */
};

/* A frame that is named: which of those at NODE of the profile, 0 innermost. */
struct stack_line_place {
        uint32_t node, level;
        bool bare; /* of a library: without file and line, those of its caller count */
};
enum { STACK_LINE_PLACES = 2 };

/* The frames that are named, the inner one first; returns how many. */
uint32_t stack_line_places(const struct stack_line *b, uint32_t node,
                           struct stack_line_place places[STACK_LINE_PLACES]);

/* Append to the line that begins at START of the output "function file:line", and "<- " with the
 * caller's where that fits.  The function is the first of the program's own; in front of it what
 * that called of another library (fold.h). */
void stack_line_stack(struct stack_line *b, uint32_t node, size_t start);

#endif
