/* SPDX-License-Identifier: MIT */
#include "query/function.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/heap.h"

enum { FUNCTION_NAMELESS = 0x10000 };

static bool function_same(const struct function_key *a, const struct function_key *b)
{
        return a->name == b->name && a->file == b->file && a->line == b->line &&
               a->module == b->module;
}

struct function_key function_key_of(const struct profile *p, uint32_t node,
                                    const struct symbol_frame *frame)
{
        return (struct function_key){
                .name = frame->function ? (uintptr_t)frame->function
                        : node <= 1     ? node
                                        : p->nodes[node].pc,
                .file = (uintptr_t)frame->file,
                .line = frame->line,
                .module = p->nodes[node].module + (frame->function ? 0u : FUNCTION_NAMELESS),
        };
}

uint32_t function_key_number(struct function_table *t, const struct function_key *key)
{
        uint64_t file = key->file ^ (uint64_t)key->line << 40 ^ (uint64_t)key->module << 20;
        uint32_t number = TABLE_NUMBER(&t->table, table_hash(key->name, file), n,
                                       function_same(&t->keys[n], key));

        if (number == t->count) {
                t->keys = heap_next(t->keys, t->count, sizeof *t->keys);
                t->keys[t->count++] = *key;
        }
        return number + 1;
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
        table_free(&t->table);
        *t = (struct function_table){ 0 };
}
