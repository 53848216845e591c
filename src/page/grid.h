/* SPDX-License-Identifier: MIT */
/* grid.h -- tables of numbers, written by column; each text is stored once and has a number. */
#ifndef SEEP_PAGE_GRID_H
#define SEEP_PAGE_GRID_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "names/string_pool.h"
#include "base/lookup.h"

#define GRID_NONE (-1) /* no text, no row */

struct grid {
        const char *names; /* of the columns, with spaces between them */
        uint32_t columns;
        int64_t *cells; /* row by row */
        size_t count;
};

void grid_start(struct grid *t, const char *names);
void grid_free(struct grid *t);

/* A new row, all 0.  Valid until the next one. */
int64_t *grid_add(struct grid *t);

/* Add a row with these cells: as many as there are columns. */
#define GRID_ROW(t, ...)                              \
        grid_row(t, (const int64_t[]){ __VA_ARGS__ }, \
                 sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t))
void grid_row(struct grid *t, const int64_t *cells, size_t count);

/* The cell of ROW in COLUMN. */
static inline int64_t grid_cell(const struct grid *t, size_t row, uint32_t column)
{
        return t->cells[row * t->columns + column];
}

/* Numbers of a damaged recording may run over: then the sum is wrong, and nothing worse. */
static inline void grid_sum(int64_t *cell, uint64_t more)
{
        *cell = (int64_t)((uint64_t)*cell + more);
}

/* Append {"count": N, "first": [...], ...}.  A long column with but one number is just that
 * number. */
void grid_write(const struct grid *t, struct str *out);

/* Append [1, 2, 3] */
void grid_list(const int64_t *numbers, size_t count, size_t step, struct str *out);

/* Zeroed: none. */
struct lexicon {
        struct string_pool pool;
        struct lookup known; /* by the pool's text: 1 + its number */
        struct str json;       /* members of a list */
        const char **list;     /* by number */
        uint32_t count;
};

#define LEXICON_LONGEST 4096u /* bytes of one text; of a longer one the end is left out */

/* The number of TEXT; GRID_NONE for NULL. */
int64_t lexicon_of(struct lexicon *t, const char *text);

/* The same for "0x7f..." */
int64_t lexicon_address(struct lexicon *t, uint64_t address);
void lexicon_free(struct lexicon *t);

#endif
