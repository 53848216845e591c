/* SPDX-License-Identifier: MIT */
#include "query/function.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/heap.h"

enum { FUNCTION_NAMELESS = 0x10000 };

static bool function_same(const struct function_key *a, const struct function_key *b)
{
        return a->name == b->name && a->file == b->file && a->line == b->line && a->module == b->module;
}

static struct function_key *function_slot(const struct function_table *t, const struct function_key *key)
{
        uint64_t hash = key->name * 0x9e3779b97f4a7c15ull ^ key->module * 0xc2b2ae3d27d4eb4full;
        size_t i;

        hash = (hash ^ hash >> 29 ^ key->file ^ key->line) * 0x9e3779b97f4a7c15ull;
        i = (hash ^ hash >> 32) & (t->room - 1);
        while (t->keys[i].number && !function_same(&t->keys[i], key))
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
                        *function_slot(t, &old.keys[i]) = old.keys[i];
        free(old.keys);
}

struct function_key function_key_of(const struct profile *p, uint32_t node, const struct symbol_frame *frame)
{
        return (struct function_key){
                .name = frame->function ? (uintptr_t)frame->function : node <= 1 ? node : p->nodes[node].pc,
                .file = (uintptr_t)frame->file,
                .line = frame->line,
                .module = p->nodes[node].module + (frame->function ? 0u : FUNCTION_NAMELESS),
        };
}

uint32_t function_key_number(struct function_table *t, const struct function_key *key)
{
        struct function_key *slot;

        if ((size_t)t->count * 2 >= t->room)
                function_widen(t);
        slot = function_slot(t, key);
        if (!slot->number) {
                *slot = *key;
                slot->number = ++t->count;
        }
        return slot->number;
}

uint32_t function_number(struct function_table *t, const struct profile *p, uint32_t node,
                         const struct symbol_frame *frame)
{
        struct function_key key = function_key_of(p, node, frame);

        return function_key_number(t, &key);
}

void function_free(struct function_table *t)
{
        free(t->keys);
        *t = (struct function_table){ 0 };
}
