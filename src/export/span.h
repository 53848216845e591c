/* SPDX-License-Identifier: MIT */
/*
 * span.h -- the part of a run that --at and --range choose, for forms of what happened over time.
 *
 * Room:   outside.
 * Keeps:  the moments are those of query/select.h: a time means the last slice that is not later.
 */
#ifndef SEEP_EXPORT_SPAN_H
#define SEEP_EXPORT_SPAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "export/export.h"

struct span {
        uint32_t first, last;   /* slices that are before it; slices until its end */
        uint64_t from_ms, to_ms;
        bool whole;             /* all of the run */
        bool to_end;            /* its last numbers are those of the run, not of a slice */
        bool to_peak;           /* ... are those of the peak */
        bool has_peak;          /* the peak of the run is surely in it ... */
        uint32_t peak;          /* ... and so many slices are before it */
};

/* false: there is no slice that early. */
bool span_make(struct span *s, const struct export_input *in, struct err *e);

/* The slice with most live bytes, the one that the span begins with among them.  Only when LAST is not 0. */
uint32_t span_largest(const struct span *s, const struct profile *p);

/* The time of slice I; those behind the last one are the end. */
uint64_t span_ms(const struct span *s, const struct profile *p, uint32_t i);

#endif
