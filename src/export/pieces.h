/* SPDX-License-Identifier: MIT */
/*
 * pieces.h -- allocations and frees between the moments of a recording without an event log, in as
 * few pieces as have the same sums.
 *
 * Keeps:  over all pieces of a sample, what came is what it allocated, and what is there at a
 *         moment is what was live then.
 */
#ifndef SEEP_EXPORT_PIECES_H
#define SEEP_EXPORT_PIECES_H

#include <stdint.h>

#include "export/course.h"
#include "export/stack_costs.h"

#define PIECES_STAY UINT32_MAX

/* Memory of one stack that came between two moments and went between two others;
 * what came last goes first. */
struct course_piece {
        uint32_t sample;
        uint32_t came, went; /* slices that saw it first and no more; span.last is the end.
                              * PIECES_STAY: it never went */
        uint32_t before;     /* the piece of the same sample below it, 1 + index; 0 none */
        uint64_t bytes;
};

struct pieces {
        struct course_piece *at;
        uint32_t count;
        uint32_t *top; /* by sample: the one that came last and is still there, 1 + index */
};

/* Until the end of SPAN. */
void pieces_make(struct pieces *p, const struct stack_costs *s, const struct course_span *span);
void pieces_free(struct pieces *p);

#endif
