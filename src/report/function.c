/* SPDX-License-Identifier: MIT */
/*
 * function.c -- small numbers for functions, so that reports compare integers instead of names.
 *
 * Room:   outside.
 */
#include "report/function.h"

#include <stdlib.h>

#include "base/heap.h"

enum { FUNCTION_NAMELESS = 0x10000 };

static struct function_key *function_slot(const struct function_table *t, uint64_t name, uint32_t module)
{
        uint64_t hash = name * 0x9e3779b97f4a7c15ull ^ module * 0xc2b2ae3d27d4eb4full;
        size_t i = (hash ^ hash >> 32) & (t->room - 1);

        while (t->keys[i].number && (t->keys[i].name != name || t->keys[i].module != module))
                i = (i + 1) & (t->room - 1);
        return &t->keys[i];
}

static void function_widen(struct function_table *t)
{
        struct function_table old = *t;

        t->room = old.room ? old.room * 2 : 1024;
        t->keys = heap_zero(t->room, sizeof *t->keys);
        for (size_t i = 0; i < old.room; i++)
                if (old.keys[i].number)
                        *function_slot(t, old.keys[i].name, old.keys[i].module) = old.keys[i];
        free(old.keys);
}

uint32_t function_number(struct function_table *t, const struct profile *p, uint32_t node,
                         const struct symbol_frame *frame)
{
        uint64_t name = frame->function ? (uintptr_t)frame->function : node <= 1 ? node : p->nodes[node].pc;
        uint32_t module = p->nodes[node].module + (frame->function ? 0u : FUNCTION_NAMELESS);
        struct function_key *slot;

        if ((size_t)t->count * 2 >= t->room)
                function_widen(t);
        slot = function_slot(t, name, module);
        if (!slot->number)
                *slot = (struct function_key){ name, module, ++t->count };
        return slot->number;
}

void function_free(struct function_table *t)
{
        free(t->keys);
        *t = (struct function_table){ 0 };
}
