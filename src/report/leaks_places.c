/* SPDX-License-Identifier: MIT */
/*
 * leaks_places.c -- leaks by the place where they were allocated; its stacks are merged.
 *
 * A place is what one line names (stack_line.h): the first function of the program's own, and the
 * function of the C library that it called.  A recursive program reaches it by thousands of stacks.
 */
#include <stdlib.h>

#include "base/heap.h"
#include "base/table.h"
#include "query/fold.h"
#include "query/function.h"
#include "query/walk.h"
#include "report/stack_line.h"
#include "report/views.h"

struct place_key {
        uint64_t frames; /* numbers of both */
        uint64_t kind;   /* class of the leak, and the row where it has no stack */
};

enum { PLACES_RECURSION = 64 }; /* frames in which another caller is looked for */

struct places {
        struct stack_line line;
        bool lines; /* struct leaks_options */
        struct lookup known;
        struct function_table functions;
        struct table numbers;
        struct place_key *keys;
        struct leaks_row *rows;
        uint32_t count;
};

/* Who of the program's own called the function at OWN, and is another one. */
static struct leaks_from caller_of(struct places *at, struct stack_line_place own)
{
        const struct profile *p = at->line.profile;
        struct walk w = walk_own(p, at->line.symbols, own.node);
        const struct symbol_frame *frames;
        const char *name;

        symbols_node(at->line.symbols, own.node, &frames);
        name = frames[own.level].function;
        for (uint32_t i = 0; i < PLACES_RECURSION && walk_next(&w); i++) {
                if (w.node == own.node && w.level <= own.level)
                        continue;
                if ((name && w.frame->function == name) ||
                    fold_kind_of(p, w.node, w.frame) != FOLD_OWN)
                        continue;
                return (struct leaks_from){ function_number(&at->functions, p, w.node, w.frame),
                                            w.node, w.level, 0 };
        }
        return (struct leaks_from){ 0 };
}

/* Of ROW; FROM is its caller. */
static struct place_key place_of(struct places *at, const struct leaks *l, uint32_t row,
                                 struct leaks_from *from)
{
        uint32_t node = select_origin(l->sel, l->rows[row].stack->node);
        struct stack_line_place named[STACK_LINE_PLACES];
        struct place_key key = { 0, l->rows[row].leak };
        uint32_t count = node > 1 ? stack_line_places(&at->line, node, named) : 0;
        const struct symbol_frame *frames;

        *from = (struct leaks_from){ 0 };
        if (!count)
                return (struct place_key){ 0, (uint64_t)(row + 1) << 8 | l->rows[row].leak };
        if (!at->lines)
                *from = caller_of(at, named[named[0].bare]);
        if (!at->lines && !named[0].bare)
                count = 1;
        for (uint32_t i = 0; i < count; i++) {
                symbols_node(at->line.symbols, named[i].node, &frames);
                key.frames = key.frames << 32 |
                             function_number(&at->functions, l->sel->profile, named[i].node,
                                             &frames[named[i].level]);
        }
        return key;
}

static void add_caller(struct leaks_row *to, const struct leaks_row *row, struct leaks_from from)
{
        uint32_t i = 0;

        from.bytes = row->own.bytes;
        while (i < to->from_count && to->from[i].function != from.function)
                i++;
        if (i < to->from_count)
                to->from[i].bytes += from.bytes;
        else if (i < LEAKS_FROM)
                to->from[to->from_count++] = from;
        else
                to->from_more += row->variants;
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
        struct leaks_from from;
        struct place_key key = place_of(at, l, row, &from);
        uint32_t place = TABLE_NUMBER(&at->numbers, table_hash(key.frames, key.kind), i,
                                      at->keys[i].frames == key.frames &&
                                              at->keys[i].kind == key.kind);

        if (place < at->count) {
                merge_row(&at->rows[place], &l->rows[row]);
                add_caller(&at->rows[place], &l->rows[row], from);
                return;
        }
        at->keys = heap_next(at->keys, at->count, sizeof *at->keys);
        at->rows = heap_next(at->rows, at->count, sizeof *at->rows);
        at->keys[at->count] = key;
        at->rows[at->count] = l->rows[row];
        add_caller(&at->rows[at->count++], &l->rows[row], from);
}

struct leaks_row *leaks_places(const struct leaks *l, struct symbols *s,
                               const struct leaks_options *o, uint32_t *count)
{
        struct places at = { .line = { .profile = l->sel->profile, .symbols = s },
                             .lines = o->lines };
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
