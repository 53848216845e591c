/* SPDX-License-Identifier: MIT */
/* index.c -- from an address to the block it lies in: how the index is made. */
#include "leak/index.h"

#include <stdlib.h>

#include "base/find.h"
#include "base/heap.h"
#include "base/parallel.h"
#include "leak/huge_array.h"

#define STRETCH_SHIFT 26u              /* 64 MiB: a library and a heap seldom share one */
#define DIRECTORY_MOST (UINT64_C(1) << 21) /* all of a 47-bit address space in such stretches */

#define MEASURE_PART (1u << 18) /* blocks that a thread looks at in a row */

/* What there is to know of some blocks before any can be placed. */
struct measure {
        uint64_t address_bits, bytes, high;
        uint32_t flags;
        bool nested, shared8, shared16; /* of two neighbours: in one granule of so many bytes */
};

struct measuring {
        const struct index *x;
        struct measure *parts;
};

static void index_measure_part(void *context, uint32_t slot, uint32_t part)
{
        const struct measuring *all = context;
        const struct search_block *b = all->x->blocks;
        uint32_t i = part * MEASURE_PART, end = all->x->count - i;
        uint64_t before = i ? b[i - 1].address : 0;
        struct measure m = { .high = b[i].address };
        bool first = !i;

        (void)slot;
        end = end < MEASURE_PART ? all->x->count : i + MEASURE_PART;
        for (; i < end; i++) {
                uint64_t here = b[i].address, last = index_end(&b[i]);

                m.address_bits |= here;
                m.bytes += b[i].size;
                m.flags |= b[i].flags;
                m.nested |= here < m.high;
                m.high = last > m.high ? last : m.high;
                m.shared8 |= !first && here >> 3 == before >> 3;
                m.shared16 |= !first && here >> 4 == before >> 4;
                before = here;
                first = false;
        }
        all->parts[part] = m;
}

/* Returns whether two blocks begin in one granule. */
static bool index_measure(struct index *x, uint32_t threads)
{
        uint32_t parts = x->count / MEASURE_PART + (x->count % MEASURE_PART != 0);
        struct measuring all = { x, heap_zero(parts, sizeof *all.parts) };
        uint64_t bits = 0;
        bool shared8 = false, shared16 = false;

        parallel_run(threads, parts, index_measure_part, &all);
        x->low = x->high = x->count ? x->blocks[0].address : 0;
        for (uint32_t i = 0; i < parts; i++) {
                const struct measure *m = &all.parts[i];

                bits |= m->address_bits;
                x->bytes += m->bytes;
                x->flags |= m->flags;
                x->nested |= m->nested || x->blocks[(uint64_t)i * MEASURE_PART].address < x->high;
                x->high = m->high > x->high ? m->high : x->high;
                shared8 |= m->shared8;
                shared16 |= m->shared16;
        }
        free(all.parts);
        x->granule = bits % 16 ? 3 : 4;
        x->exact = bits % 8 == 0;
        for (x->shift = STRETCH_SHIFT;
             (x->high >> x->shift) - (x->low >> x->shift) >= DIRECTORY_MOST; x->shift++)
                ;
        x->base = x->low >> x->shift << x->shift;
        return x->granule == 3 ? shared8 : shared16;
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

/* Blocks that start in one stretch of memory. */
struct index_run {
        uint64_t number;
        uint32_t first, end;
        uint32_t before;      /* bits in all cells before, */
        uint32_t after;       /* and with those of this one */
        uint64_t cells_first; /* its first cell, of all cells */
        uint64_t reach;       /* where the last of them ends */
};

struct index_runs {
        struct index *x;
        struct index_run *at;
        uint32_t count;
};

static uint64_t index_run_cells(const struct index *x, const struct index_run *r)
{
        return index_cell(x, x->blocks[r->end - 1].address) -
               index_cell(x, x->blocks[r->first].address) + 1;
}

static void index_divide(struct index *x, struct index_runs *runs)
{
        for (uint32_t i = 0; i < x->count;) {
                uint64_t number = index_stretch_number(x, i);
                struct index_run r = { .number = number, .first = i, .before = i,
                                       .cells_first = x->cell_count };

                r.end = i + (uint32_t)FIND_FIRST(x->count - i, k,
                                                 index_stretch_number(x, i + (uint32_t)k) ==
                                                         number);
                x->cell_count += index_run_cells(x, &r);
                runs->at = heap_next(runs->at, runs->count, sizeof *runs->at);
                runs->at[runs->count++] = r;
                i = r.end;
        }
}

/* A bit for each block; where several share one, they are one, and the last of them is noted. */
static void index_fill(void *context, uint32_t slot, uint32_t part)
{
        struct index_runs *runs = context;
        struct index *x = runs->x;
        struct index_run *r = &runs->at[part];
        struct index_cell *cells = x->cells + r->cells_first;
        uint64_t start = index_cell(x, x->blocks[r->first].address) << (x->granule + 6);
        uint64_t count = index_run_cells(x, r);

        (void)slot;
        if (x->last && part)
                r->before = runs->at[part - 1].after; /* by one thread, in their order */
        r->after = r->before;
        for (uint32_t i = r->first; i < r->end; i++) {
                uint64_t granule = (x->blocks[i].address - start) >> x->granule,
                         bit = UINT64_C(1) << granule % 64, end = index_end(&x->blocks[i]);
                uint64_t *bits = &cells[granule / 64].bits;

                r->reach = end > r->reach ? end : r->reach;
                if (x->last) {
                        r->after += !(*bits & bit);
                        x->last[r->after - 1] = i;
                }
                *bits |= bit;
        }
        r->after = r->before;
        for (uint64_t c = 0; c < count; c++) {
                cells[c].rank = r->after;
                r->after += index_bits(cells[c].bits);
        }
}

static void index_place(struct index *x, const struct index_runs *runs, uint64_t stretches)
{
        uint64_t reach = 0, number = 0;

        index_stretch_add(x, 0, 0); /* number 0 means none */
        for (uint32_t i = 0; i < runs->count; i++) {
                const struct index_run *r = &runs->at[i];
                struct index_stretch *s;

                index_cover(x, number, r->number, reach);
                s = index_stretch_add(x, r->number, r->before);
                s->start = index_cell(x, x->blocks[r->first].address) << (x->granule + 6);
                s->cells = x->cells + r->cells_first;
                s->cell_count = index_run_cells(x, r);
                s->after = x->rank = r->after;
                reach = r->reach > reach ? r->reach : reach;
                number = r->number + 1;
        }
        index_cover(x, number, stretches, reach);
}

void index_make(struct index *x, const struct search_input *in)
{
        struct index_runs runs = { .x = x };
        uint64_t stretches;
        bool shared;

        *x = (struct index){ .blocks = in->blocks, .count = (uint32_t)in->block_count };
        shared = index_measure(x, in->threads);
        if (x->nested)
                index_nest(x);
        index_divide(x, &runs);
        x->cells = huge_array_zero(x->cell_count, sizeof *x->cells);
        x->last = shared ? huge_array_zero(x->count, sizeof *x->last) : NULL;
        parallel_run(shared ? 1 : in->threads, runs.count, index_fill, &runs);
        stretches = ((x->high - x->base) >> x->shift) + 1;
        x->directory = heap_zero(stretches, sizeof *x->directory);
        index_place(x, &runs, stretches);
        free(runs.at);
}

void index_free(struct index *x)
{
        free(x->cells);
        free(x->stretches);
        free(x->directory);
        free(x->last);
        free(x->parents);
}
