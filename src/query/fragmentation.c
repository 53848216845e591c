/* SPDX-License-Identifier: MIT */
#include "query/fragmentation.h"

#include <stdlib.h>

#include "base/heap.h"
#include "base/order.h"
#include "profile/packed.h"
#include "query/residence.h"

#define FRAGMENTATION_PAGE 4096u  /* where it is not told */
#define FRAGMENTATION_HEADER 16u  /* bytes from a chunk's start to its block */
#define FRAGMENTATION_SPACE (1ull << 47) /* no block is larger */
#define OWN_MAIN 672u  /* bytes in front of the first block: the cache of the first thread ... */
#define OWN_ARENA 2896u /* ... and in an arena of threads its bins */

/* ---- one block after another ---- */

/* The page that the last block ends on. */
struct page {
        uint64_t number;
        uint64_t taken;   /* bytes of blocks on it */
        uint32_t *sites;  /* of these blocks */
        uint32_t count, room;
};

struct mapper {
        struct fragmentation *f;
        const struct profile *p;
        uint64_t page_bytes;
        struct page page;
        struct fragmentation_site *sites; /* by site */
        struct packed_walk walk;
        bool more; /* there is a block that was not walked over */
        uint64_t most, least; /* so many holes are kept; smaller ones are not among them */
};

static uint64_t round_up(uint64_t n, uint64_t to)
{
        return (n + to - 1) / to * to;
}

static uint64_t taken_by(uint64_t size)
{
        return size + 8 <= 32 ? 32 : round_up(size + 8, 16);
}

static struct fragmentation_class *class_of(struct fragmentation *f, uint64_t bytes)
{
        uint32_t i = 0;

        while (i + 1 < FRAGMENTATION_CLASSES && bytes > 32ull << i)
                i++;
        return &f->classes[i];
}

/* What is free on the last page stays because of the blocks there, of each as much. */
static void end_page(struct mapper *m)
{
        uint64_t left = m->page_bytes > m->page.taken ? m->page_bytes - m->page.taken : 0;

        for (uint32_t i = 0; i < m->page.count; i++) {
                uint64_t share = left / (m->page.count - i);

                m->sites[m->page.sites[i]].pinned_bytes += share;
                left -= share;
        }
        m->page.count = 0;
        m->page.taken = 0;
}

static void add_to_page(struct mapper *m, uint64_t number, uint64_t bytes, uint32_t site)
{
        if (m->page.number != number)
                end_page(m);
        m->page.number = number;
        m->page.taken += bytes;
        if (m->page.count == m->page.room) {
                m->page.room = m->page.room ? m->page.room * 2 : 64;
                m->page.sites = heap_grow(m->page.sites, m->page.room, sizeof *m->page.sites);
        }
        m->page.sites[m->page.count++] = site;
}

/* Pages in the middle of a block have no room left. */
static void add_to_pages(struct mapper *m, uint64_t start, uint64_t end, uint32_t site)
{
        uint64_t first = start / m->page_bytes, last = (end - 1) / m->page_bytes;

        add_to_page(m, first,
                    (last == first ? end : (first + 1) * m->page_bytes) - start, site);
        if (last > first)
                add_to_page(m, last, end - last * m->page_bytes, site);
}

static int compare_holes(const void *a, const void *b)
{
        const struct fragmentation_hole *x = a, *y = b;

        return ORDER(y->end - y->start, x->end - x->start) ?: ORDER(x->start, y->start);
}

/* The largest M->MOST of them. */
static void keep_largest(struct mapper *m)
{
        struct fragmentation *f = m->f;

        if (f->hole_count)
                qsort(f->holes, f->hole_count, sizeof *f->holes, compare_holes);
        if (f->hole_count < m->most)
                return;
        f->hole_count = m->most;
        m->least = f->holes[m->most - 1].end - f->holes[m->most - 1].start;
}

/* What is above is what is in the whole heap without what is below, which is known here. */
static void keep_hole(struct mapper *m, const struct fragmentation_heap *heap, uint64_t start,
                      uint64_t end)
{
        struct fragmentation *f = m->f;

        if (end - start < m->least)
                return;
        f->holes = heap_next(f->holes, f->hole_count, sizeof *f->holes);
        f->holes[f->hole_count++] = (struct fragmentation_hole){
                .start = start, .end = end, .block = *m->walk.block, .above = heap->sum.blocks,
                .above_bytes = heap->sum.live_bytes, .heap = f->heap_count - 1 };
        if (f->hole_count == 2 * m->most)
                keep_largest(m);
}

static void add_hole(struct mapper *m, struct fragmentation_heap *heap, uint64_t start,
                     uint64_t end)
{
        uint64_t from = round_up(start, m->page_bytes), to = end / m->page_bytes * m->page_bytes;
        struct fragmentation_class *class = class_of(m->f, end - start);

        keep_hole(m, heap, start, end);
        heap->sum.holes++;
        heap->sum.hole_bytes += end - start;
        heap->sum.whole_bytes += to > from ? to - from : 0;
        class->holes++;
        class->hole_bytes += end - start;
}

static void add_block(struct mapper *m, struct fragmentation_heap *heap,
                      const struct profile_block *b, uint64_t taken)
{
        struct fragmentation_class *class = class_of(m->f, taken);
        struct fragmentation_site *site = &m->sites[b->site];

        heap->sum.blocks++;
        heap->sum.live_bytes += b->size;
        heap->sum.taken_bytes += taken;
        class->blocks++;
        class->live_bytes += b->size;
        class->taken_bytes += taken;
        site->blocks++;
        site->live_bytes += b->size;
        site->taken_bytes += taken;
        add_to_pages(m, b->address - FRAGMENTATION_HEADER,
                     b->address - FRAGMENTATION_HEADER + taken, b->site);
}

/* Blocks of pools lie in others; what else overlaps, or does not fit, is damage. */
static bool counts(const struct mapper *m, const struct profile_block *b, uint64_t at, uint64_t end)
{
        return b->site && b->site < m->p->site_count &&
               m->p->sites[b->site].kind != LEDGER_KIND_POOL &&
               b->address >= at + FRAGMENTATION_HEADER && b->size < FRAGMENTATION_SPACE &&
               b->address - FRAGMENTATION_HEADER + taken_by(b->size) <= end;
}

/* Pages that are not resident cannot be given back: they are taken for some at the top, which
 * begins at TOP, and then for some in holes (as residence.c does). */
static void leave_out_absent(const struct mapper *m, struct fragmentation_heap *heap, uint64_t top)
{
        const struct fragmentation_sum *s = &heap->sum;
        uint64_t end = heap->mapping->end, from = round_up(top, m->page_bytes),
                 absent = s->bytes > s->rss_bytes ? s->bytes - s->rss_bytes : 0,
                 at_top = end > from ? end - from : 0,
                 in_holes = absent > at_top ? absent - at_top : 0;

        heap->sum.whole_bytes -= in_holes < s->whole_bytes ? in_holes : s->whole_bytes;
}

static void add_heap(struct mapper *m, const struct profile_mapping *mapping, uint32_t keeper)
{
        struct fragmentation *f = m->f;
        uint64_t at = mapping->start,
                 own = keeper == PROFILE_KEEPER_ARENA ? OWN_ARENA : OWN_MAIN;
        struct fragmentation_heap *heap;

        f->heaps = heap_next(f->heaps, f->heap_count, sizeof *f->heaps);
        heap = &f->heaps[f->heap_count++];
        *heap = (struct fragmentation_heap){ .mapping = mapping, .keeper = keeper };
        heap->sum.bytes = mapping->end - mapping->start;
        heap->sum.rss_bytes = mapping->rss_bytes;
        for (; m->more && m->walk.block->address < mapping->end; m->more = packed_next(&m->walk)) {
                const struct profile_block *b = m->walk.block;
                uint64_t chunk = b->address - FRAGMENTATION_HEADER;

                if (b->address < mapping->start || !counts(m, b, at, mapping->end))
                        continue;
                if (at == mapping->start) {
                        heap->sum.own_bytes = chunk - at < own ? chunk - at : own;
                        at += heap->sum.own_bytes;
                }
                if (chunk > at)
                        add_hole(m, heap, at, chunk);
                add_block(m, heap, b, taken_by(b->size));
                at = chunk + taken_by(b->size);
        }
        heap->sum.top_bytes = mapping->end - at;
        leave_out_absent(m, heap, at);
        end_page(m);
}

/* ---- all of them ---- */

static void sum_add(struct fragmentation_sum *to, const struct fragmentation_sum *more)
{
        to->bytes += more->bytes;
        to->rss_bytes += more->rss_bytes;
        to->blocks += more->blocks;
        to->live_bytes += more->live_bytes;
        to->taken_bytes += more->taken_bytes;
        to->own_bytes += more->own_bytes;
        to->holes += more->holes;
        to->hole_bytes += more->hole_bytes;
        to->whole_bytes += more->whole_bytes;
        to->top_bytes += more->top_bytes;
}

static void add_heaps(struct mapper *m)
{
        const struct profile_region *region;
        struct residence_part part;
        struct residence r;

        residence_start(&r, m->p);
        while (residence_next(&r, &part, &region)) {
                const struct profile_mapping *mapping = &m->p->mappings[r.mapping - 1];

                if (part.keeper == PROFILE_KEEPER_CHUNK) {
                        m->f->mapped_blocks += part.blocks;
                        m->f->mapped_bytes += part.rss_bytes - part.rest_bytes;
                }
                if (part.keeper != PROFILE_KEEPER_HEAP && part.keeper != PROFILE_KEEPER_ARENA)
                        continue;
                add_heap(m, mapping, part.keeper);
                m->f->unrecorded_bytes += mapping->unrecorded_bytes;
        }
        residence_end(&r);
}

static int compare_sites(const void *a, const void *b)
{
        const struct fragmentation_site *x = a, *y = b;

        return ORDER(y->pinned_bytes, x->pinned_bytes) ?: ORDER(y->taken_bytes, x->taken_bytes) ?:
               ORDER(x->site, y->site);
}

static int compare_heaps(const void *a, const void *b)
{
        const struct fragmentation_heap *x = a, *y = b;

        return ORDER(y->sum.hole_bytes, x->sum.hole_bytes) ?:
               ORDER(x->mapping->start, y->mapping->start);
}

static void arrange(struct mapper *m)
{
        struct fragmentation *f = m->f;
        struct fragmentation_site *sites = m->sites;

        for (uint32_t i = 0; i < f->p->site_count; i++)
                if (sites[i].blocks) {
                        sites[f->site_count] = sites[i];
                        sites[f->site_count++].site = i;
                }
        f->sites = sites;
        if (f->site_count)
                qsort(sites, f->site_count, sizeof *sites, compare_sites);
        for (uint64_t i = 0; i < f->hole_count; i++) {
                const struct fragmentation_sum *sum = &f->heaps[f->holes[i].heap].sum;

                f->holes[i].above = sum->blocks - f->holes[i].above;
                f->holes[i].above_bytes = sum->live_bytes - f->holes[i].above_bytes;
        }
        keep_largest(m);
        if (f->heap_count)
                qsort(f->heaps, f->heap_count, sizeof *f->heaps, compare_heaps);
        for (uint32_t i = 0; i < f->heap_count; i++)
                sum_add(&f->all, &f->heaps[i].sum);
}

static bool is_possible(const struct profile *p, struct err *e)
{
        if (profile_is_sampled(p))
                return err_set(e, ERR_EXIT_USAGE,
                               "a recording made with --sample or --limit-ledger does not have all "
                               "blocks: where holes are is not known");
        if (!profile_scanned(p))
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "the heap is known as it was when the program was searched for "
                               "leaks, and it was not: record it without --no-leak-scan, or give "
                               "the PID of the running process");
        if (!p->mapping_count)
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "the recording does not tell where the heap was: nobody could look "
                               "at the process");
        return true;
}

bool fragmentation_make(struct fragmentation *f, const struct profile *p, uint64_t holes,
                        struct err *e)
{
        struct mapper m = { .f = f, .p = p, .page_bytes = p->meta.page_bytes,
                            .most = holes > FRAGMENTATION_HOLES ? holes : FRAGMENTATION_HOLES };

        *f = (struct fragmentation){ .p = p };
        if (!is_possible(p, e))
                return false;
        if (!m.page_bytes || m.page_bytes & (m.page_bytes - 1))
                m.page_bytes = FRAGMENTATION_PAGE;
        f->exact = PROFILE_SCAN_IS_LAST(profile_scanned(p)->when);
        m.sites = heap_zero(p->site_count, sizeof *m.sites);
        packed_open(&m.walk, p);
        m.more = packed_next(&m.walk);
        add_heaps(&m);
        packed_close(&m.walk);
        free(m.page.sites);
        arrange(&m);
        if (f->heap_count)
                return true;
        fragmentation_free(f);
        return err_set(e, ERR_EXIT_CANNOT_TRACE,
                       "no heap of glibc's malloc was found: of other allocators only sums are "
                       "known, in 'seep report --summary'");
}

uint64_t fragmentation_top_of_threads(const struct fragmentation *f)
{
        uint64_t sum = 0;

        for (uint32_t i = 0; i < f->heap_count; i++)
                if (f->heaps[i].keeper == PROFILE_KEEPER_ARENA)
                        sum += f->heaps[i].sum.top_bytes;
        return sum;
}

void fragmentation_free(struct fragmentation *f)
{
        free(f->heaps);
        free(f->holes);
        free(f->sites);
        *f = (struct fragmentation){ 0 };
}

/* ---- pictures ---- */

uint64_t fragmentation_cell(const struct fragmentation_heap *heap, uint32_t cells)
{
        return (heap->sum.bytes + cells - 1) / cells;
}

static void map_block(const struct fragmentation_heap *heap, const struct profile_block *b,
                      uint32_t cells, uint64_t *taken)
{
        uint64_t from = b->address - FRAGMENTATION_HEADER - heap->mapping->start,
                 to = from + taken_by(b->size), each = fragmentation_cell(heap, cells);

        for (uint64_t cell = from / each; cell < cells && cell * each < to; cell++) {
                uint64_t low = cell * each > from ? cell * each : from,
                         high = (cell + 1) * each < to ? (cell + 1) * each : to;

                taken[cell] += high - low;
        }
}

/* A heap and its row. */
struct map_row {
        const struct fragmentation_heap *heap;
        uint64_t *taken;
};

static int compare_rows(const void *a, const void *b)
{
        const struct map_row *x = a, *y = b;

        return ORDER(x->heap->mapping->start, y->heap->mapping->start);
}

uint64_t *fragmentation_maps(const struct fragmentation *f, uint32_t heaps, uint32_t cells)
{
        uint64_t *taken = heap_zero((size_t)heaps * cells, sizeof *taken);
        struct map_row *rows = heap_zero(heaps, sizeof *rows);
        struct mapper m = { .p = f->p };
        uint32_t at = 0;

        for (uint32_t i = 0; i < heaps; i++)
                rows[i] = (struct map_row){ &f->heaps[i], taken + (size_t)i * cells };
        if (heaps)
                qsort(rows, heaps, sizeof *rows, compare_rows);
        packed_open(&m.walk, f->p);
        while (packed_next(&m.walk)) {
                const struct profile_block *b = m.walk.block;

                while (at < heaps && b->address >= rows[at].heap->mapping->end)
                        at++;
                if (at == heaps)
                        break;
                if (counts(&m, b, rows[at].heap->mapping->start, rows[at].heap->mapping->end))
                        map_block(rows[at].heap, b, cells, rows[at].taken);
        }
        packed_close(&m.walk);
        free(rows);
        return taken;
}
