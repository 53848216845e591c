/* SPDX-License-Identifier: MIT */
/*
 * types.c -- the heap by type, at the end, at the peak and at snapshots; and as a map, with its
 * holes.
 */
#include <stdlib.h>

#include "base/heap.h"
#include "base/json.h"
#include "page/page_parts.h"
#include "query/fragmentation.h"
#include "query/types.h"

enum {
        TYPES_MARKS = 8,     /* snapshots that are told of */
        TYPES_ROWS = 200,    /* of each moment ... */
        TYPES_UNKNOWN = 20,  /* ... and call stacks whose type is not known */
        TYPES_PARTS = 5,     /* call stacks of each type */
        MAP_CELLS = 512,     /* of a heap's picture */
        MAP_HEAPS = 16,
        MAP_ROWS = 50
};

#define TYPES_END (-1)
#define TYPES_PEAK (-2)

/* ---- types ---- */

struct page_types {
        int64_t at; /* TYPES_END, TYPES_PEAK, or the mark */
        struct types types; /* their selection is gone */
};

static void find_moment(struct page *g, int64_t at, const struct select_request *request)
{
        struct selection sel;
        struct types found;
        struct err unused;

        if (select_make(&sel, g->p, g->s, request, &unused)) {
                types_make(&found, &sel, g->s);
                found.sel = NULL;
                g->types = heap_grow(g->types, g->type_count + 1, sizeof *g->types);
                g->types[g->type_count++] = (struct page_types){ at, found };
        }
        select_free(&sel);
}

void page_find_types(struct page *g)
{
        struct select_request request = { .cost = SELECT_LIVE, .each_site = true };
        uint32_t marks = 0;

        /* Data that are made every few seconds, or of one view, do without. */
        if (g->r->live || g->r->at || g->r->range || g->r->filter)
                return;
        find_moment(g, TYPES_END, &request);
        request.cost = SELECT_PEAK;
        find_moment(g, TYPES_PEAK, &request);
        request.cost = SELECT_LIVE;
        for (uint32_t i = 0; i < g->p->mark_count && marks < TYPES_MARKS; i++) {
                if (!g->p->marks[i].seq)
                        continue;
                request.at = (struct moment){ .type = MOMENT_MARK, .mark = i };
                find_moment(g, i, &request);
                marks++;
        }
}

void page_free_types(struct page *g)
{
        for (uint32_t i = 0; i < g->type_count; i++)
                types_free(&g->types[i].types);
        free(g->types);
}

static void add_parts(struct page *g, struct grid *t, const struct types *types, uint32_t row,
                      int64_t to)
{
        uint32_t count = 0;

        for (uint32_t i = 0; i < types->part_count && count < TYPES_PARTS; i++) {
                const struct types_part *part = &types->parts[i];

                if (part->row != row)
                        continue;
                GRID_ROW(t, to, page_row(g, part->site), (int64_t)part->sum.bytes,
                         (int64_t)part->sum.blocks);
                count++;
        }
}

static void add_types(struct page *g, const struct page_types *of, struct grid *t,
                      struct grid *parts)
{
        struct { struct types_sum sum; uint32_t rows, left; } known = { 0 }, unknown = { 0 }, *to;

        for (uint32_t i = 0; i < of->types.count; i++) {
                const struct types_row *row = &of->types.rows[i];

                to = row->name ? &known : &unknown;
                if (to->rows++ >= (row->name ? TYPES_ROWS : TYPES_UNKNOWN)) {
                        to->sum.bytes += row->sum.bytes;
                        to->sum.blocks += row->sum.blocks;
                        to->left++;
                        continue;
                }
                GRID_ROW(t, of->at, lexicon_of(&g->lexicon, row->name),
                         lexicon_of(&g->lexicon,
                                    row->name ? types_way_word(types_row_way(row)) : NULL),
                         page_row(g, row->site), row->sites, (int64_t)row->size,
                         (int64_t)row->sum.bytes, (int64_t)row->sum.blocks);
                add_parts(g, parts, &of->types, i, (int64_t)t->count - 1);
        }
        if (known.left)
                GRID_ROW(t, of->at, lexicon_of(&g->lexicon, "smaller ones"), GRID_NONE, GRID_NONE,
                         known.left, 0, (int64_t)known.sum.bytes, (int64_t)known.sum.blocks);
        if (unknown.left)
                GRID_ROW(t, of->at, GRID_NONE, GRID_NONE, GRID_NONE, unknown.left, 0,
                         (int64_t)unknown.sum.bytes, (int64_t)unknown.sum.blocks);
}

void page_write_types(struct page *g)
{
        struct grid moments, rows, parts;

        grid_start(&moments, "at bytes blocks known_bytes exact");
        grid_start(&rows, "at name by site sites size bytes blocks");
        grid_start(&parts, "type site bytes blocks");
        for (uint32_t i = 0; i < g->type_count; i++) {
                const struct types *t = &g->types[i].types;

                GRID_ROW(&moments, g->types[i].at, (int64_t)t->all.bytes, (int64_t)t->all.blocks,
                         (int64_t)t->known.bytes, t->blocks);
                add_types(g, &g->types[i], &rows, &parts);
        }
        page_name(g, "type_ways");
        str_char(g->out, '{');
        for (int i = 1; i < TYPES_WAY_COUNT; i++)
                json_text_field(g->out, i > 1 ? ",\"" : "\"", types_way_word((enum types_way)i),
                                types_way_text((enum types_way)i));
        str_char(g->out, '}');
        page_table(g, "type_moments", &moments);
        page_table(g, "types", &rows);
        page_table(g, "type_sites", &parts);
}

/* ---- the map ---- */

/* What is told of each heap, and of all together. */
#define HEAP_FIELDS(X)                                                                             \
        X(bytes) X(rss_bytes) X(blocks) X(live_bytes) X(taken_bytes) X(holes) X(hole_bytes)        \
        X(top_bytes)
#define HEAP_NAME(field) " " #field
#define HEAP_CELL(field) , (int64_t)s->field
#define HEAP_MEMBER(field) json_field(g->out, ",\"", #field, s->field);

static void write_total(struct page *g, const struct fragmentation *f)
{
        const struct fragmentation_sum *s = &f->all;

        str_format(g->out, "\"exact\":%s,\"total\":{", f->exact ? "true" : "false");
        json_field(g->out, "\"", "own_bytes", s->own_bytes);
        HEAP_FIELDS(HEAP_MEMBER)
        json_field(g->out, ",\"", "whole_bytes", s->whole_bytes);
        json_field(g->out, ",\"", "mapped_bytes", f->mapped_bytes);
        json_field(g->out, ",\"", "unrecorded_bytes", f->unrecorded_bytes);
        str_char(g->out, '}');
}

static void write_heaps(struct page *g, const struct fragmentation *f)
{
        struct grid t;

        grid_start(&t, "address main" HEAP_FIELDS(HEAP_NAME));
        for (uint32_t i = 0; i < f->heap_count && i < MAP_HEAPS; i++) {
                const struct fragmentation_heap *heap = &f->heaps[i];
                const struct fragmentation_sum *s = &heap->sum;

                GRID_ROW(&t, lexicon_address(&g->lexicon, heap->mapping->start),
                         heap->keeper == PROFILE_KEEPER_HEAP HEAP_FIELDS(HEAP_CELL));
        }
        page_table(g, "heaps", &t);
}

/* By heap and cell: how much of it is taken by blocks, in per cent. */
static void write_cells(struct page *g, const struct fragmentation *f)
{
        uint32_t heaps = f->heap_count < MAP_HEAPS ? f->heap_count : MAP_HEAPS;
        uint64_t *taken = fragmentation_maps(f, heaps, MAP_CELLS);
        int64_t shares[MAP_CELLS];

        page_name(g, "cells");
        str_char(g->out, '[');
        for (uint32_t i = 0; i < heaps; i++) {
                uint64_t each = fragmentation_cell(&f->heaps[i], MAP_CELLS);

                /* A block, however small, is seen. */
                for (uint32_t k = 0; k < MAP_CELLS; k++) {
                        uint64_t here = taken[i * MAP_CELLS + k];

                        shares[k] = each ? (int64_t)((here * 100 + each - 1) / each) : 0;
                }
                str_text(g->out, i ? "," : "");
                grid_list(shares, MAP_CELLS, 1, g->out);
        }
        str_char(g->out, ']');
        free(taken);
}

static void write_holes(struct page *g, const struct fragmentation *f)
{
        struct grid t;

        grid_start(&t, "address bytes above above_bytes block block_bytes site");
        for (uint64_t i = 0; i < f->hole_count && i < MAP_ROWS; i++) {
                const struct fragmentation_hole *h = &f->holes[i];
                const struct profile_block *b = &h->block;

                GRID_ROW(&t, lexicon_address(&g->lexicon, h->start), (int64_t)(h->end - h->start),
                         (int64_t)h->above, (int64_t)h->above_bytes,
                         lexicon_address(&g->lexicon, b->address), (int64_t)b->size,
                         page_row(g, b->site));
        }
        page_table(g, "holes", &t);
}

static void write_pins(struct page *g, const struct fragmentation *f)
{
        struct grid t;

        grid_start(&t, "site blocks live_bytes taken_bytes pinned_bytes");
        for (uint32_t i = 0; i < f->site_count && i < MAP_ROWS; i++) {
                const struct fragmentation_site *s = &f->sites[i];

                GRID_ROW(&t, page_row(g, s->site), (int64_t)s->blocks, (int64_t)s->live_bytes,
                         (int64_t)s->taken_bytes, (int64_t)s->pinned_bytes);
        }
        page_table(g, "pins", &t);
        grid_start(&t, "up_to blocks live_bytes taken_bytes holes hole_bytes");
        for (uint32_t i = 0; i < FRAGMENTATION_CLASSES; i++) {
                const struct fragmentation_class *c = &f->classes[i];

                if (c->blocks || c->holes)
                        GRID_ROW(&t, (int64_t)(32ull << i), (int64_t)c->blocks,
                                 (int64_t)c->live_bytes, (int64_t)c->taken_bytes, (int64_t)c->holes,
                                 (int64_t)c->hole_bytes);
        }
        page_table(g, "classes", &t);
}

void page_write_fragmentation(struct page *g)
{
        struct fragmentation f;
        struct err e = { 0 };
        bool known = fragmentation_make(&f, g->p, MAP_ROWS, &e);

        page_name(g, "fragmentation_why_not");
        json_text(g->out, e.text);
        page_name(g, "fragmentation");
        if (!known) {
                str_text(g->out, "null");
                return;
        }
        str_char(g->out, '{');
        write_total(g, &f);
        write_heaps(g, &f);
        write_cells(g, &f);
        write_holes(g, &f);
        write_pins(g, &f);
        str_char(g->out, '}');
        fragmentation_free(&f);
}
