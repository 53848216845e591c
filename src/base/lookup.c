/* SPDX-License-Identifier: MIT */
#include "base/lookup.h"

#include <stdlib.h>

#include "base/heap.h"

uint32_t lookup_search(struct lookup *l, uint64_t a, uint64_t b)
{
        uint32_t count = l->table.count;
        uint32_t number = TABLE_NUMBER(&l->table, table_hash(a, b), n,
                                       l->list[n].a == a && l->list[n].b == b);

        if (number == count) {
                l->list = heap_next(l->list, count, sizeof *l->list);
                l->list[number] = (struct lookup_entry){ a, b, 0 };
        }
        return number;
}

void lookup_free(struct lookup *l)
{
        free(l->list);
        table_free(&l->table);
        *l = (struct lookup){ 0 };
}
