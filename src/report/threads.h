/* SPDX-License-Identifier: MIT */
/*
 * threads.h -- a table of the threads that allocated.
 *
 * Room:   outside.
 */
#ifndef SEEP_REPORT_THREADS_H
#define SEEP_REPORT_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "profile/model.h"
#include "query/filter.h"

struct threads_options {
        const struct filter *filter; /* NULL: all */
        uint32_t limit;              /* 0: all */
        bool csv;                    /* for programs */
};

/* Append the table: the thread that allocated most bytes first. */
void threads_write(const struct profile *p, const struct threads_options *options, struct str *out);

#endif
