/* SPDX-License-Identifier: MIT */
/* index.c -- from an address to the block it lies in: how the index is made. */
#include "leak/index.h"

#include <stdlib.h>

#include "base/heap.h"
#include "leak/huge_array.h"

#define STRETCH_SHIFT 26u              /* 64 MiB: a library and a heap seldom share one */
#define DIRECTORY_MOST (UINT64_C(1) << 21) /* all of a 47-bit address space in such stretches */

/* What there is to know before anything can be placed.  Few loops: ten million blocks
 * do not fit into any cache. */
static void index_measure(struct index *x)
{
        uint64_t all = 0;

        x->low = x->count ? x->blocks[0].address : 0;
        x->high = x->low;
        for (uint32_t i = 0; i < x->count; i++) {
                const struct search_block *b = &x->blocks[i];

                all |= b->address;
                x->flags |= b->flags;
                x->bytes += b->size;
                x->nested |= b->address < x->high;
                x->high = index_end(b) > x->high ? index_end(b) : x->high;
        }
        x->granule = all % 16 ? 3 : 4;
        x->exact = all % 8 == 0;
        for (x->shift = STRETCH_SHIFT;
             (x->high >> x->shift) - (x->low >> x->shift) >= DIRECTORY_MOST; x->shift++)
                ;
        x->base = x->low >> x->shift << x->shift;
}

/* Who lies in whom.  Blocks of the C library alone never do. */
static void index_nest(struct index *x)
{
        uint32_t open = 0; /* 1 + the innermost block around the place */

        x->parents = huge_array_zero(x->count, sizeof *x->parents);
        for (uint32_t i = 0; i < x->count; i++) {
                while (open && index_end(&x->blocks[open - 1]) <= x->blocks[i].address)
                        open = x->parents[open - 1];
                x->parents[i] = open;
                open = i + 1;
        }
}

static uint64_t index_stretch_number(const struct index *x, uint32_t block)
{
        return (x->blocks[block].address - x->base) >> x->shift;
}

/* Counted from address 0. */
static uint64_t index_cell(const struct index *x, uint64_t address)
{
        return address >> (x->granule + 6);
}

/* Room for the cells of all stretches, and for LAST if it is needed. */
static void index_reserve(struct index *x)
{
        uint64_t cells = x->count != 0;
        bool shared = false;

        for (uint32_t i = 1; i < x->count; i++) {
                uint64_t before = x->blocks[i - 1].address, here = x->blocks[i].address;
                bool same = (here - x->base) >> x->shift == (before - x->base) >> x->shift;

                cells += same ? index_cell(x, here) - index_cell(x, before) : 1;
                shared |= here >> x->granule == before >> x->granule;
        }
        x->cells = huge_array_zero(cells, sizeof *x->cells);
        x->last = shared ? huge_array_zero(x->count, sizeof *x->last) : NULL;
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
static void index_cover(struct index *x, uint64_t first, uint64_t end, uint64_t reach)
{
        if (reach <= x->base)
                return;
        end = end < ((reach - 1 - x->base) >> x->shift) + 1
                      ? end
                      : ((reach - 1 - x->base) >> x->shift) + 1;
        if (first < end)
                index_stretch_add(x, first, x->rank);
        for (uint64_t number = first + 1; number < end; number++)
                x->directory[number] = x->directory[first];
}

/* Blocks from FIRST on that start in stretch NUMBER.  Returns the first that does not.  *REACH:
 * where the last of all ends. */
static uint32_t index_fill(struct index *x, uint64_t number, uint32_t first, uint64_t *reach)
{
        struct index_stretch *s = index_stretch_add(x, number, x->rank);
        uint64_t last = 0;
        uint32_t i;

        s->start = index_cell(x, x->blocks[first].address) << (x->granule + 6);
        s->cells = x->cells + x->cell_count;
        for (i = first; i < x->count && index_stretch_number(x, i) == number; i++) {
                uint64_t granule = (x->blocks[i].address - s->start) >> x->granule,
                         bit = UINT64_C(1) << granule % 64;

                last = granule / 64;
                x->rank += !(s->cells[last].bits & bit);
                s->cells[last].bits |= bit;
                if (x->last)
                        x->last[x->rank - 1] = i;
                *reach = index_end(&x->blocks[i]) > *reach ? index_end(&x->blocks[i]) : *reach;
        }
        s->cell_count = last + 1;
        x->cell_count += s->cell_count;
        for (uint64_t c = 0; c < s->cell_count; c++) {
                s->cells[c].rank = s->after;
                s->after += index_bits(s->cells[c].bits);
        }
        return i;
}

void index_make(struct index *x, const struct search_input *in)
{
        uint64_t stretches, reach = 0, number = 0;

        *x = (struct index){ .blocks = in->blocks, .count = (uint32_t)in->block_count };
        index_measure(x);
        if (x->nested)
                index_nest(x);
        index_reserve(x);
        stretches = ((x->high - x->base) >> x->shift) + 1;
        x->directory = heap_zero(stretches, sizeof *x->directory);
        index_stretch_add(x, 0, 0); /* number 0 means none */
        for (uint32_t i = 0; i < x->count; number++) {
                uint64_t here = index_stretch_number(x, i);

                index_cover(x, number, here, reach);
                i = index_fill(x, here, i, &reach);
                number = here;
        }
        index_cover(x, number, stretches, reach);
}

void index_free(struct index *x)
{
        free(x->cells);
        free(x->stretches);
        free(x->directory);
        free(x->last);
        free(x->parents);
}
