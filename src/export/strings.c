/* SPDX-License-Identifier: MIT */
#include "export/strings.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"

static uint64_t strings_hash(const char *text)
{
        uint64_t hash = 0xcbf29ce484222325ull; /* FNV-1a */

        for (; *text; text++)
                hash = (hash ^ (unsigned char)*text) * 0x100000001b3ull;
        return hash ^ hash >> 32;
}

static uint32_t *strings_slot(const struct strings *t, const char *text)
{
        size_t i = strings_hash(text) & (t->table_room - 1);

        while (t->table[i] && strcmp(t->at[t->table[i] - 1], text) != 0)
                i = (i + 1) & (t->table_room - 1);
        return &t->table[i];
}

static void strings_widen(struct strings *t)
{
        t->room = t->room ? t->room * 2 : 256;
        t->at = heap_grow(t->at, t->room, sizeof *t->at);
        free(t->table);
        t->table_room = (size_t)t->room * 2;
        t->table = heap_zero(t->table_room, sizeof *t->table);
        for (uint32_t i = 0; i < t->count; i++)
                *strings_slot(t, t->at[i]) = i + 1;
}

uint32_t strings_number(struct strings *t, const char *text)
{
        uint32_t *slot;

        if (t->count == t->room)
                strings_widen(t);
        slot = strings_slot(t, text);
        if (!*slot) {
                t->at[t->count] = heap_text(text);
                *slot = ++t->count;
        }
        return *slot - 1;
}

void strings_free(struct strings *t)
{
        for (uint32_t i = 0; i < t->count; i++)
                free(t->at[i]);
        free(t->at);
        free(t->table);
        *t = (struct strings){ 0 };
}
