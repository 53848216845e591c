/* SPDX-License-Identifier: MIT */
/*
 * leaks_places.c -- leaks by the place that they come from: the stacks that lead there are one.
 *
 * A place is what one line names (stack_line.h): the first function of the program's own, and the
 * function of the C library that it called.  A recursive program reaches it by thousands of stacks.
 */
#include <stdlib.h>

#include "base/heap.h"
#include "base/table.h"
#include "query/function.h"
#include "report/stack_line.h"
#include "report/views.h"

struct place_key {
        uint64_t frames; /* numbers of both */
        uint64_t kind;   /* class of the leak, and the row where it has no stack */
};

struct places {
        struct stack_line line;
        struct lookup known;
        struct function_table functions;
        struct table numbers;
        struct place_key *keys;
        struct leaks_row *rows;
        uint32_t count;
};

static struct place_key place_of(struct places *at, const struct leaks *l, uint32_t row)
{
        uint32_t node = select_origin(l->sel, l->rows[row].stack->node);
        struct stack_line_place named[STACK_LINE_PLACES];
        struct place_key key = { 0, l->rows[row].leak };
        uint32_t count = node > 1 ? stack_line_places(&at->line, node, named) : 0;
        const struct symbol_frame *frames;

        if (!count)
                return (struct place_key){ 0, (uint64_t)(row + 1) << 8 | l->rows[row].leak };
        if (!named[0].bare)
                count = 1;
        for (uint32_t i = 0; i < count; i++) {
                symbols_node(at->line.symbols, named[i].node, &frames);
                key.frames = key.frames << 32 |
                             function_number(&at->functions, l->sel->profile, named[i].node,
                                             &frames[named[i].level]);
        }
        return key;
}

static void merge_row(struct leaks_row *to, const struct leaks_row *row)
{
        to->variants += row->variants;
        to->own.blocks += row->own.blocks;
        to->own.bytes += row->own.bytes;
        to->hanging.blocks += row->hanging.blocks;
        to->hanging.bytes += row->hanging.bytes;
        if (row->birth_ms < to->birth_ms) {
                to->birth_ms = row->birth_ms;
                to->block = row->block;
                to->address = row->address;
        }
        if (row->vtable != to->vtable)
                to->vtable = 0;
}

static void add_row(struct places *at, const struct leaks *l, uint32_t row)
{
        struct place_key key = place_of(at, l, row);
        uint32_t place = TABLE_NUMBER(&at->numbers, table_hash(key.frames, key.kind), i,
                                      at->keys[i].frames == key.frames &&
                                              at->keys[i].kind == key.kind);

        if (place < at->count) {
                merge_row(&at->rows[place], &l->rows[row]);
                return;
        }
        at->keys = heap_next(at->keys, at->count, sizeof *at->keys);
        at->rows = heap_next(at->rows, at->count, sizeof *at->rows);
        at->keys[at->count] = key;
        at->rows[at->count++] = l->rows[row];
}

struct leaks_row *leaks_places(const struct leaks *l, struct symbols *s,
                               const struct leaks_options *o, uint32_t *count)
{
        struct places at = { .line = { .profile = l->sel->profile, .symbols = s } };
        /* Stacks that were cut are merged as the user wants them. */
        bool apart = o->verbose || l->sel->parents;

        at.line.known = &at.known;
        for (uint32_t i = 0; i < l->count; i++) {
                if (!(o->show >> l->rows[i].leak & 1))
                        continue;
                if (apart) {
                        at.rows = heap_next(at.rows, at.count, sizeof *at.rows);
                        at.rows[at.count++] = l->rows[i];
                } else {
                        add_row(&at, l, i);
                }
        }
        lookup_free(&at.known);
        function_free(&at.functions);
        table_free(&at.numbers);
        free(at.keys);
        *count = at.count;
        return at.count && !apart ? leaks_order(at.rows, at.count, l->key) : at.rows;
}
