/* SPDX-License-Identifier: MIT */
#include "base/table.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/heap.h"

enum { TABLE_ROOM = 256 };

void table_widen(struct table *t)
{
        struct table old = *t;

        do
                t->room = t->room ? t->room * 2 : TABLE_ROOM;
        while ((uint64_t)t->count * 2 >= t->room);
        t->slots = heap_zero(t->room, sizeof *t->slots);
        for (uint32_t i = 0; i < old.room; i++)
                if (old.slots[i].number)
                        *TABLE_SLOT(t, old.slots[i].hash, other, false) = old.slots[i];
        free(old.slots);
}

void table_free(struct table *t)
{
        free(t->slots);
        *t = (struct table){ 0 };
}

uint32_t table_hash_text(const char *text)
{
        uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */

        for (; *text; text++)
                hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
        return (uint32_t)(hash ^ hash >> 32);
}
