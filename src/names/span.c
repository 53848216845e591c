/* SPDX-License-Identifier: MIT */
/*
 * span.c -- address ranges that may nest, searched by address.
 *
 * Room:   outside.
 */
#include "names/span.h"

#include <stdlib.h>

#include "base/heap.h"

enum { SPAN_STEPS = 256 }; /* how many spans that begin nearer but end too early are looked at */

void spans_add(struct spans *s, uint64_t start, uint64_t end, uint32_t owner)
{
        /* Code that the linker threw away keeps its description, with the start set to 0 or 1. */
        if (end <= start || start <= 1)
                return;
        if (s->count == s->room) {
                s->room = s->room ? s->room * 2 : 64;
                s->all = heap_grow(s->all, s->room, sizeof *s->all);
        }
        s->all[s->count++] = (struct span){ start, end, owner };
        if (end - start > s->longest)
                s->longest = end - start;
}

static int span_compare(const void *a, const void *b)
{
        const struct span *x = a, *y = b;

        if (x->start != y->start)
                return x->start < y->start ? -1 : 1;
        if (x->end != y->end)
                return x->end > y->end ? -1 : 1;
        return x->owner < y->owner ? -1 : x->owner > y->owner;
}

void spans_sort(struct spans *s)
{
        if (s->count)
                qsort(s->all, s->count, sizeof *s->all, span_compare);
}

int spans_find(const struct spans *s, uint64_t address, uint32_t *owner)
{
        size_t low = 0, high = s->count;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (s->all[middle].start <= address)
                        low = middle + 1;
                else
                        high = middle;
        }
        for (size_t i = low, steps = 0; i-- > 0 && steps < SPAN_STEPS; steps++) {
                if (address - s->all[i].start >= s->longest)
                        break;
                if (address < s->all[i].end) {
                        *owner = s->all[i].owner;
                        return 1;
                }
        }
        return 0;
}

void spans_free(struct spans *s)
{
        free(s->all);
        *s = (struct spans){ 0 };
}
