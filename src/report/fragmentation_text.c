/* SPDX-License-Identifier: MIT */
/* fragmentation_text.c -- the heap as a map, as text. */
#include <inttypes.h>
#include <stdlib.h>

#include "query/block_origin.h"
#include "query/fragmentation.h"
#include "report/views.h"
#include "words/text.h"

enum {
        MAP_CELLS = 64,
        SHOWN_HEAPS = 8, /* rows, unless asked for more */
        SHOWN_HOLES = 5,
        SHOWN_SITES = 10
};

struct map_view {
        const struct fragmentation *f;
        const struct fragmentation_options *o;
        struct symbols *s;
        struct str *out;
};

static uint64_t shown_of(const struct map_view *v, uint64_t count, uint32_t usual)
{
        uint64_t limit = v->o->limit ? v->o->limit : usual;

        return limit < count ? limit : count;
}

static void more_of(const struct map_view *v, uint64_t count, uint64_t shown, const char *noun)
{
        if (shown == count)
                return;
        str_text(v->out, "  and ");
        text_count(v->out, (int64_t)(count - shown), noun);
        str_format(v->out, " more (-n %" PRIu64 ")\n", count);
}

/* "  free in holes      7.6 MiB  63 %  " */
static void map_line(const struct map_view *v, const char *what, uint64_t bytes)
{
        struct str share = { 0 };

        str_format(v->out, "  %-22s", what);
        text_cell(v->out, 11, bytes, text_size);
        text_share(&share, (double)bytes, (double)v->f->all.bytes);
        str_format(v->out, "%7s  ", str_get(&share));
        str_free(&share);
}

static void write_sums(const struct map_view *v)
{
        const struct fragmentation_sum *all = &v->f->all;

        str_format(v->out, "the heap as a map, %s: ", v->f->exact ? "at the end" : "now");
        text_count(v->out, v->f->heap_count, "heap");
        str_text(v->out, " of malloc, ");
        text_size(v->out, (int64_t)all->bytes);
        str_text(v->out, ", of it ");
        text_size(v->out, (int64_t)all->rss_bytes);
        str_text(v->out, " resident\n");
        map_line(v, "live blocks", all->live_bytes);
        text_count(v->out, (int64_t)all->blocks, "block");
        str_char(v->out, '\n');
        map_line(v, "headers and rounding", all->taken_bytes - all->live_bytes + all->own_bytes);
        str_char(v->out, '\n');
        map_line(v, "free in holes", all->hole_bytes);
        text_count(v->out, (int64_t)all->holes, "hole");
        str_text(v->out, "; malloc_trim(0) returns ");
        text_size(v->out, (int64_t)all->whole_bytes);
        str_text(v->out, " of them\n");
        map_line(v, "free at the top", all->top_bytes);
        str_text(v->out, fragmentation_top_of_threads(v->f) > all->top_bytes / 2
                                 ? "a free() of 64 KiB returns it\n"
                                 : "malloc_trim(0) returns it\n");
        if (v->f->mapped_bytes) {
                str_text(v->out, "  beside the heaps ");
                text_size(v->out, (int64_t)v->f->mapped_bytes);
                str_text(v->out, " in large blocks with mappings of their own\n");
        }
        if (v->f->unrecorded_bytes) {
                str_text(v->out, "  in the holes are ");
                text_size(v->out, (int64_t)v->f->unrecorded_bytes);
                str_text(v->out, " of blocks that were not recorded\n");
        }
}

/* ---- heaps ---- */

static void write_map(const struct map_view *v, uint64_t each, const uint64_t *taken)
{
        static const char marks[] = " .:+#"; /* nothing, up to a quarter, a half, three, all */

        str_text(v->out, "    |");
        for (uint32_t i = 0; i < MAP_CELLS; i++) {
                uint64_t quarters = each ? (taken[i] * 4 + each - 1) / each : 0;

                str_char(v->out, marks[quarters < 4 ? quarters : 4]);
        }
        str_text(v->out, "|  a sign is ");
        text_size(v->out, (int64_t)each);
        str_char(v->out, '\n');
}

static void write_heaps(const struct map_view *v)
{
        uint64_t shown = shown_of(v, v->f->heap_count, SHOWN_HEAPS),
                 *taken = fragmentation_maps(v->f, (uint32_t)shown, MAP_CELLS);

        str_format(v->out,
                   "\nheaps, the one with most in holes first ('#' full of blocks, '.' nearly "
                   "empty, ' ' free)\n");
        for (uint64_t i = 0; i < shown; i++) {
                const struct fragmentation_heap *heap = &v->f->heaps[i];

                str_format(v->out, "  0x%" PRIx64 "  %s, ", heap->mapping->start,
                           heap->keeper == PROFILE_KEEPER_HEAP ? "main arena" : "arena of threads");
                text_size(v->out, (int64_t)heap->sum.bytes);
                str_text(v->out, ", in blocks ");
                text_size(v->out, (int64_t)heap->sum.taken_bytes);
                str_text(v->out, ", in holes ");
                text_size(v->out, (int64_t)heap->sum.hole_bytes);
                str_char(v->out, '\n');
                write_map(v, fragmentation_cell(heap, MAP_CELLS), taken + i * MAP_CELLS);
        }
        free(taken);
        more_of(v, v->f->heap_count, shown, "heap");
}

/* ---- what stays, and why ---- */

static void write_place(const struct map_view *v, uint32_t site, size_t start)
{
        const struct profile *p = v->f->p;
        size_t used;

        str_format(v->out, "#%" PRIu32 " ", site);
        used = text_columns(v->out, start);
        block_origin_write(p, block_origin_of(p, v->s, site),
                           v->o->columns > used + 12 ? v->o->columns - used : v->o->columns,
                           v->out);
        str_char(v->out, '\n');
}

/* A hole goes back by itself when all that is above it is freed. */
static void write_holes(const struct map_view *v)
{
        uint64_t shown = shown_of(v, v->f->hole_count, SHOWN_HOLES);

        if (!shown)
                return;
        str_format(v->out,
                   "\nthe largest holes, and the blocks above that keep them from going back to "
                   "the system\n%11s%15s%12s  %s\n", "hole", "blocks above", "with",
                   "the lowest of them");
        for (uint64_t i = 0; i < shown; i++) {
                const struct fragmentation_hole *h = &v->f->holes[i];
                const struct profile_block *b = &h->block;
                size_t start = v->out->length;

                text_cell(v->out, 11, h->end - h->start, text_size);
                text_cell(v->out, 15, h->above, text_number);
                text_cell(v->out, 12, h->above_bytes, text_size);
                str_format(v->out, "  0x%" PRIx64 ", ", b->address);
                text_size(v->out, (int64_t)b->size);
                str_text(v->out, ", ");
                write_place(v, b->site, start);
        }
        more_of(v, v->f->all.holes, shown, "hole");
}

static void write_sites(const struct map_view *v)
{
        uint64_t shown = shown_of(v, v->f->site_count, SHOWN_SITES);

        if (!shown)
                return;
        str_format(v->out,
                   "\ncall stacks whose blocks pin most: free memory on the pages that they lie "
                   "on\n%11s%12s%11s%12s  %s\n", "pinned", "blocks", "bytes", "overhead",
                   "allocated by");
        for (uint64_t i = 0; i < shown; i++) {
                const struct fragmentation_site *site = &v->f->sites[i];
                size_t start = v->out->length;

                text_cell(v->out, 11, site->pinned_bytes, text_size);
                text_cell(v->out, 12, site->blocks, text_number);
                text_cell(v->out, 11, site->live_bytes, text_size);
                text_cell(v->out, 12, site->taken_bytes - site->live_bytes, text_size);
                str_text(v->out, "  ");
                write_place(v, site->site, start);
        }
        more_of(v, v->f->site_count, shown, "call stack");
}

static void write_classes(const struct map_view *v)
{
        str_format(v->out, "\nby size\n%11s%12s%11s%12s%12s%11s\n", "up to", "blocks", "bytes",
                   "overhead", "holes", "free");
        for (uint32_t i = 0; i < FRAGMENTATION_CLASSES; i++) {
                const struct fragmentation_class *class = &v->f->classes[i];

                if (!class->blocks && !class->holes)
                        continue;
                text_cell(v->out, 11, 32ull << i, text_size);
                text_cell(v->out, 12, class->blocks, text_number);
                text_cell(v->out, 11, class->live_bytes, text_size);
                text_cell(v->out, 12, class->taken_bytes - class->live_bytes, text_size);
                text_cell(v->out, 12, class->holes, text_number);
                text_cell(v->out, 11, class->hole_bytes, text_size);
                str_char(v->out, '\n');
        }
}

/* What to do about the largest hole: the sentence that people look for. */
static void write_advice(const struct map_view *v)
{
        const struct fragmentation_hole *h = v->f->hole_count ? &v->f->holes[0] : NULL;

        if (!h || h->end - h->start < 65536)
                return;
        str_char(v->out, '\n');
        if (h->above == 1)
                str_text(v->out, "one block keeps ");
        else
                text_count(v->out, (int64_t)h->above, "block");
        str_text(v->out, h->above == 1 ? "" : " keep ");
        text_size(v->out, (int64_t)(h->end - h->start));
        str_text(v->out, " from going back to the system; what keeps the lowest alive:\n");
        str_format(v->out, "  seep why FILE 0x%" PRIx64 "\n", h->block.address);
}

void fragmentation_write(const struct fragmentation *f, struct symbols *s,
                         const struct fragmentation_options *o, struct str *out)
{
        struct map_view v = { f, o, s, out };

        write_sums(&v);
        write_heaps(&v);
        write_holes(&v);
        write_sites(&v);
        write_classes(&v);
        write_advice(&v);
}
