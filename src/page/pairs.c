/* SPDX-License-Identifier: MIT */
#include "page/pairs.h"

#include <stdlib.h>

#include "base/heap.h"

static struct pair *pairs_slot(const struct pairs *x, uint64_t a, uint64_t b)
{
        uint64_t hash = (a * 0x9e3779b97f4a7c15ull) ^ (b * 0xc2b2ae3d27d4eb4full);
        size_t i = (hash ^ hash >> 29) * 0x9e3779b97f4a7c15ull >> 32 & (x->room - 1);

        while (x->list[i].number && (x->list[i].a != a || x->list[i].b != b))
                i = (i + 1) & (x->room - 1);
        return &x->list[i];
}

static void pairs_widen(struct pairs *x)
{
        struct pairs old = *x;

        x->room = old.room ? old.room * 2 : 1024;
        x->list = heap_zero(x->room, sizeof *x->list);
        for (size_t i = 0; i < old.room; i++)
                if (old.list[i].number)
                        *pairs_slot(x, old.list[i].a, old.list[i].b) = old.list[i];
        free(old.list);
}

uint32_t *pairs_of(struct pairs *x, uint64_t a, uint64_t b)
{
        struct pair *slot;

        if (x->count * 2 >= x->room)
                pairs_widen(x);
        slot = pairs_slot(x, a, b);
        if (!slot->number) {
                slot->a = a;
                slot->b = b;
                x->count++;
        }
        return &slot->number;
}

void pairs_free(struct pairs *x)
{
        free(x->list);
        *x = (struct pairs){ 0 };
}
