/* SPDX-License-Identifier: MIT */
/*
 * portions.h -- the costs of each stack by the thread that made them, as far as a recording tells.
 *
 * Room:   outside.
 * Keeps:  the portions of a row add up to the row.
 */
#ifndef SEEP_EXPORT_PORTIONS_H
#define SEEP_EXPORT_PORTIONS_H

#include <stdint.h>

#include "export/cost.h"
#include "query/select.h"

struct portion {
        uint32_t row;    /* of the heap of the selection */
        uint32_t thread; /* of the profile; 0: nobody knows */
        struct costs costs;
};

struct portions {
        struct portion *at; /* sorted by row, then thread */
        uint32_t count;
};

/* Peaks are not known by thread: where several allocated at one stack they are in a portion of nobody. */
void portions_make(struct portions *p, const struct cost_source *source);
void portions_free(struct portions *p);

#endif
