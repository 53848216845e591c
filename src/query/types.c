/* SPDX-License-Identifier: MIT */
#include "query/types.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/order.h"
#include "profile/packed.h"
#include "query/type_blocks.h"

const char *types_way_word(enum types_way way)
{
        static const char *const words[] = {
#define TYPES_WAY_WORD(name, word, text) word,
                TYPES_WAYS(TYPES_WAY_WORD)
#undef TYPES_WAY_WORD
        };

        return words[way];
}

const char *types_way_text(enum types_way way)
{
        static const char *const texts[] = {
#define TYPES_WAY_TEXT(name, word, text) text,
                TYPES_WAYS(TYPES_WAY_TEXT)
#undef TYPES_WAY_TEXT
        };

        return texts[way];
}

enum types_way types_row_way(const struct types_row *row)
{
        enum types_way best = TYPES_NONE;

        for (int i = 1; i < TYPES_WAY_COUNT; i++)
                if ((int64_t)row->by[i].bytes > (int64_t)row->by[best].bytes ||
                    (best == TYPES_NONE && row->by[i].blocks))
                        best = (enum types_way)i;
        return best;
}

/* ---- rows ---- */

/* Rows while they grow: by name, or else by site. */
struct types_list {
        struct types *t;
        struct type_blocks found;
        struct table rows, parts;
        uint32_t *names; /* by row: of the name; 0 unknown */
};

static void sum_add(struct types_sum *to, struct types_sum more)
{
        to->bytes += more.bytes;
        to->blocks += more.blocks;
}

static uint32_t row_of(struct types_list *l, uint32_t name, uint32_t site)
{
        struct types *t = l->t;
        uint32_t whose = name ? 0 : site;
        uint32_t row = TABLE_NUMBER(&l->rows, table_hash(name, whose), n,
                                    l->names[n] == name && (name || t->rows[n].site == site));

        if (row == t->count) {
                t->rows = heap_next(t->rows, t->count, sizeof *t->rows);
                l->names = heap_next(l->names, t->count, sizeof *l->names);
                l->names[t->count] = name;
                t->rows[t->count++] = (struct types_row){
                        .name = name ? l->found.names[name - 1] : NULL, .site = site };
        }
        return row;
}

static void add(struct types_list *l, const struct type_known *known, uint32_t site,
                struct types_sum sum)
{
        struct types *t = l->t;
        uint32_t row = row_of(l, known->name, site);
        uint32_t part = TABLE_NUMBER(&l->parts, table_hash(row, site), n,
                                     t->parts[n].row == row && t->parts[n].site == site);

        if (part == t->part_count) {
                t->parts = heap_next(t->parts, t->part_count, sizeof *t->parts);
                t->parts[t->part_count++] = (struct types_part){
                        .row = row, .site = site, .place = l->found.places[site] };
        }
        sum_add(&t->parts[part].sum, sum);
        sum_add(&t->rows[row].sum, sum);
        sum_add(&t->rows[row].by[known->way], sum);
        sum_add(&t->all, sum);
        if (known->name)
                sum_add(&t->known, sum);
        if (!t->rows[row].size && known->type.n)
                t->rows[row].size = variable_type_size(l->found.s, known->type);
}

/* ---- order ---- */

/* What became less in a range comes last. */
static int by_size(const struct types_sum *a, const struct types_sum *b)
{
        return ORDER((int64_t)b->bytes, (int64_t)a->bytes) ?:
               ORDER((int64_t)b->blocks, (int64_t)a->blocks);
}

static int compare_rows(const void *a, const void *b)
{
        const struct types_row *x = a, *y = b;
        int order = by_size(&x->sum, &y->sum);

        if (order)
                return order;
        if (!x->name || !y->name)
                return x->name ? -1 : y->name ? 1 : ORDER(x->site, y->site);
        return strcmp(x->name, y->name);
}

static int compare_parts(const void *a, const void *b)
{
        const struct types_part *x = a, *y = b;

        return ORDER(x->row, y->row) ?: by_size(&x->sum, &y->sum) ?: ORDER(x->site, y->site);
}

/* Rows keep their parts by number, which changes when they are sorted. */
static void arrange(struct types *t)
{
        uint32_t *place = heap_zero(t->count, sizeof *place), *sites;

        if (!t->count) {
                free(place);
                return;
        }
        for (uint32_t i = 0; i < t->count; i++)
                t->rows[i].sites = i;
        qsort(t->rows, t->count, sizeof *t->rows, compare_rows);
        for (uint32_t i = 0; i < t->count; i++) {
                place[t->rows[i].sites] = i;
                t->rows[i].sites = 0;
        }
        for (uint32_t i = 0; i < t->part_count; i++)
                t->parts[i].row = place[t->parts[i].row];
        qsort(t->parts, t->part_count, sizeof *t->parts, compare_parts);
        for (uint32_t i = 0; i < t->part_count; i++) {
                sites = &t->rows[t->parts[i].row].sites;
                if (!(*sites)++) {
                        t->rows[t->parts[i].row].site = t->parts[i].site;
                        t->rows[t->parts[i].row].place = t->parts[i].place;
                }
        }
        free(place);
}

/* ---- all of it ---- */

static void add_blocks(struct types_list *l, const uint8_t *wanted)
{
        const struct profile *p = l->t->sel->profile;

        struct packed_walk w;

        packed_open(&w, p);
        while (packed_next(&w)) {
                const struct profile_block *b = w.block;
                uint64_t times = profile_block_times(p, b);

                if (b->site < p->site_count && wanted[b->site])
                        add(l, type_of_block(&l->found, w.index), b->site,
                            (struct types_sum){ b->size * times, times });
        }
        packed_close(&w);
}

static void add_rows(struct types_list *l, const struct select_part *part)
{
        for (uint32_t i = 0; i < part->count; i++) {
                const struct select_row *row = &part->rows[i];

                if (row->bytes || row->count)
                        add(l, &l->found.sites[row->site], row->site,
                            (struct types_sum){ row->bytes, row->count });
        }
}

void types_make(struct types *t, const struct selection *sel, struct symbols *s)
{
        struct types_list l = { .t = t };
        uint8_t *wanted = select_sites(sel, &sel->heap), *older = select_sites(sel, &sel->older);

        *t = (struct types){ .sel = sel };
        t->blocks = sel->profile->block_count && sel->cost == SELECT_LIVE &&
                    sel->moment == SELECT_OF_RUN;
        for (uint32_t i = 0; i < sel->profile->site_count; i++)
                wanted[i] |= older[i];
        type_blocks_make(&l.found, sel->profile, s, wanted);
        if (t->blocks)
                add_blocks(&l, wanted);
        else
                add_rows(&l, &sel->heap);
        arrange(t);
        t->names = l.found.names;
        t->name_count = l.found.name_count;
        l.found.names = NULL;
        l.found.name_count = 0;
        type_blocks_free(&l.found);
        table_free(&l.rows);
        table_free(&l.parts);
        free(l.names);
        free(wanted);
        free(older);
}

void types_free(struct types *t)
{
        for (uint32_t i = 0; i < t->name_count; i++)
                free(t->names[i]);
        free(t->names);
        free(t->rows);
        free(t->parts);
        *t = (struct types){ 0 };
}
