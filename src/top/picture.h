/* SPDX-License-Identifier: MIT */
/*
 * picture.h -- a recording at one moment, beside earlier ones: the contents of the view.
 */
#ifndef SEEP_TOP_PICTURE_H
#define SEEP_TOP_PICTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "names/symbol.h"
#include "profile/model.h"
#include "query/filter.h"
#include "top/history.h"

struct picture {
        const struct profile *p;
        struct symbols *symbols;
        const uint32_t *numbers;        /* by site: in the moments */
        struct history *history;              /* for the numbers of threads and sizes */
        const struct history_moment *now;  /* NULL: wait for the next look */
        const struct history_moment *then; /* what NOW is compared with; NULL: nothing */
        const struct history_moment *last; /* the moment before, for rates; NULL: there is none */
        char since[16]; /* "60s", "start", "snap 2": the time between THEN and NOW */
        uint64_t peak_bytes;            /* until now */
        uint32_t slices;                /* of P that are not later */
        bool whole;                     /* threads and blocks of P are of this moment */
};

/* By site: its number.  To be freed. */
uint32_t *picture_numbers(struct history *history, const struct profile *p);

/* The numbers of a thread of that name (threads of one name are one), and of blocks
 * of at most 2^POWER bytes. */
uint32_t picture_thread(struct history *history, const struct profile_thread *thread);
uint32_t picture_size(struct history *history, int power);

/* What P holds, as a moment; NUMBERS by picture_numbers().  Of threads and sizes as far as P has
 * blocks.  THREADS: of those only, or NULL. */
struct history_moment picture_of_end(struct history *history, const struct profile *p,
                                     const uint32_t *numbers, struct filter *threads);

/* What was live at slice I of P. */
struct history_moment picture_of_slice(const struct profile *p, const uint32_t *numbers,
                                       uint32_t i);

/* "60s", "12s", "start" for the time between two moments. */
void picture_since(struct picture *c);

#endif
