/* SPDX-License-Identifier: MIT */
/*
 * timeline.h -- live memory over time, drawn with letters.
 *
 * Room:   outside.  `seep report --timeline`.
 */
#ifndef SEEP_REPORT_TIMELINE_H
#define SEEP_REPORT_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "query/select.h"

struct timeline_options {
        bool whole;              /* nothing was chosen: the process as a whole, with its peak and RSS */
        uint64_t from_ms, to_ms; /* the part shown; to UINT64_MAX: the end */
        uint32_t columns;        /* of the output */
        int color;
};

/* Append the plot of the heap of SEL's stacks, that of RSS, and the list of tags and snapshots. */
void timeline_write(const struct selection *sel, const struct timeline_options *options, struct str *out);

#endif
