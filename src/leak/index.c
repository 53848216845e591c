/* SPDX-License-Identifier: MIT */
/*
 * index.c -- from an address to the block it lies in: how the index is made.
 *
 * Room:   leak/ only.
 */
#include "leak/index.h"

#include <stdlib.h>

#include "base/heap.h"

#define STRETCH_SHIFT 26u              /* 64 MiB: a library and a heap seldom share one */
#define DIRECTORY_MOST (UINT64_C(1) << 21) /* all of a 47-bit address space in such stretches */

/* Who lies in whom.  Blocks of the C library alone never do. */
static void index_nest(struct index *x)
{
        uint64_t reach = 0;
        uint32_t open = 0, i = 0; /* 1 + the innermost block around the place */

        while (i < x->count && x->blocks[i].address >= reach)
                reach = index_end(&x->blocks[i++]);
        if (i == x->count)
                return;
        x->parents = heap_zero(x->count, sizeof *x->parents);
        for (i = 0; i < x->count; i++) {
                while (open && index_end(&x->blocks[open - 1]) <= x->blocks[i].address)
                        open = x->parents[open - 1];
                x->parents[i] = open;
                open = i + 1;
        }
}

static void index_measure(struct index *x)
{
        uint64_t all = 0;

        x->low = x->count ? x->blocks[0].address : 0;
        x->high = x->low;
        for (uint32_t i = 0; i < x->count; i++) {
                all |= x->blocks[i].address;
                x->high = index_end(&x->blocks[i]) > x->high ? index_end(&x->blocks[i]) : x->high;
        }
        x->granule = all % 16 ? 3 : 4;
        x->exact = all % 8 == 0;
        for (x->shift = STRETCH_SHIFT; (x->high >> x->shift) - (x->low >> x->shift) >= DIRECTORY_MOST; x->shift++)
                ;
        x->base = x->low >> x->shift << x->shift;
}

static struct index_stretch *index_stretch_add(struct index *x, uint64_t number, uint32_t rank)
{
        if (x->stretch_count == x->stretch_room) {
                x->stretch_room = x->stretch_room ? 2 * x->stretch_room : 64;
                x->stretches = heap_grow(x->stretches, x->stretch_room, sizeof *x->stretches);
        }
        x->stretches[x->stretch_count] = (struct index_stretch){ .before = rank, .after = rank };
        x->directory[number] = x->stretch_count;
        return &x->stretches[x->stretch_count++];
}

/* Stretches FIRST to END, as far as a block that ends at REACH covers them: none starts there. */
static void index_cover(struct index *x, uint64_t first, uint64_t end, uint64_t reach, uint32_t rank)
{
        if (reach <= x->base || !rank)
                return;
        end = end < ((reach - 1 - x->base) >> x->shift) + 1 ? end : ((reach - 1 - x->base) >> x->shift) + 1;
        if (first < end)
                index_stretch_add(x, first, rank);
        for (uint64_t number = first + 1; number < end; number++)
                x->directory[number] = x->directory[first];
}

/* Blocks FIRST to END start in this stretch.  Returns the rank after them. */
static uint32_t index_fill(struct index *x, struct index_stretch *s, uint32_t first, uint32_t end)
{
        unsigned cell_shift = x->granule + 6;
        uint32_t rank = s->before;

        s->start = x->blocks[first].address >> cell_shift << cell_shift;
        s->cell_count = ((x->blocks[end - 1].address - s->start) >> cell_shift) + 1;
        s->cells = heap_zero(s->cell_count, sizeof *s->cells);
        for (uint32_t i = first; i < end; i++) {
                uint64_t granule = (x->blocks[i].address - s->start) >> x->granule;
                uint64_t bit = UINT64_C(1) << granule % 64;

                rank += !(s->cells[granule / 64].bits & bit);
                s->cells[granule / 64].bits |= bit;
                x->last[rank - 1] = i;
        }
        s->after = s->before;
        for (uint64_t c = 0; c < s->cell_count; c++) {
                s->cells[c].rank = s->after;
                s->after += index_bits(s->cells[c].bits);
        }
        return rank;
}

void index_make(struct index *x, const struct search_input *in)
{
        uint64_t stretches, reach = 0, number = 0;
        uint32_t rank = 0;

        *x = (struct index){ .blocks = in->blocks, .count = (uint32_t)in->block_count };
        index_nest(x);
        index_measure(x);
        stretches = ((x->high - x->base) >> x->shift) + 1;
        x->directory = heap_zero(stretches, sizeof *x->directory);
        x->last = heap_zero(x->count, sizeof *x->last);
        index_stretch_add(x, 0, 0); /* number 0 means none */
        for (uint32_t i = 0, end = 0; i < x->count; i = end) {
                uint64_t here = (x->blocks[i].address - x->base) >> x->shift, covered = reach;

                for (end = i; end < x->count && (x->blocks[end].address - x->base) >> x->shift == here; end++)
                        reach = index_end(&x->blocks[end]) > reach ? index_end(&x->blocks[end]) : reach;
                index_cover(x, number, here, covered, rank);
                rank = index_fill(x, index_stretch_add(x, here, rank), i, end);
                number = here + 1;
        }
        index_cover(x, number, stretches, reach, rank);
        if (rank == x->count) { /* then rank and block are the same */
                free(x->last);
                x->last = NULL;
        }
}

void index_free(struct index *x)
{
        for (uint32_t i = 0; i < x->stretch_count; i++)
                free(x->stretches[i].cells);
        free(x->stretches);
        free(x->directory);
        free(x->last);
        free(x->parents);
}
