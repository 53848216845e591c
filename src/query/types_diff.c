/* SPDX-License-Identifier: MIT */
#include "query/types_diff.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/order.h"

/* One row of a side, to be put in the order of names. */
struct types_named {
        const struct types_row *row;
        bool is_new;
};

/* What is not known comes first. */
static int by_name(const void *a, const void *b)
{
        const struct types_named *x = a, *y = b;

        if (!x->row->name || !y->row->name)
                return ORDER(x->row->name != NULL, y->row->name != NULL);
        return strcmp(x->row->name, y->row->name);
}

static uint64_t distance(const struct types_change *c)
{
        return c->new.bytes > c->old.bytes ? c->new.bytes - c->old.bytes
                                           : c->old.bytes - c->new.bytes;
}

static int by_change(const void *a, const void *b)
{
        const struct types_change *x = a, *y = b;

        return ORDER(distance(y), distance(x)) ?:
               ORDER(x->name != NULL, y->name != NULL) ?:
               (x->name && y->name ? strcmp(x->name, y->name) : 0);
}

static void add(struct types_change *to, const struct types_named *n)
{
        struct types_sum *sum = n->is_new ? &to->new : &to->old;

        sum->bytes += n->row->sum.bytes;
        sum->blocks += n->row->sum.blocks;
        if (to->row && to->row->sum.bytes > n->row->sum.bytes)
                return;
        to->row = n->row;
        to->is_new = n->is_new;
}

void types_diff_make(struct types_diff *d, const struct types *old, const struct types *new)
{
        uint32_t count = old->count + new->count, made = 0;
        struct types_named *all = heap_zero(count + 1, sizeof *all);

        for (uint32_t i = 0; i < old->count; i++)
                all[i] = (struct types_named){ &old->rows[i], false };
        for (uint32_t i = 0; i < new->count; i++)
                all[old->count + i] = (struct types_named){ &new->rows[i], true };
        qsort(all, count, sizeof *all, by_name);
        *d = (struct types_diff){ .rows = heap_zero(count + 1, sizeof *d->rows) };
        for (uint32_t i = 0; i < count; i++) {
                if (!i || by_name(&all[i - 1], &all[i]) != 0)
                        d->rows[made++].name = all[i].row->name;
                add(&d->rows[made - 1], &all[i]);
        }
        for (uint32_t i = 0; i < made; i++)
                if (d->rows[i].old.bytes != d->rows[i].new.bytes ||
                    d->rows[i].old.blocks != d->rows[i].new.blocks)
                        d->rows[d->count++] = d->rows[i];
        d->same = made - d->count;
        qsort(d->rows, d->count, sizeof *d->rows, by_change);
        free(all);
}

void types_diff_free(struct types_diff *d)
{
        free(d->rows);
        *d = (struct types_diff){ 0 };
}
