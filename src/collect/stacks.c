/* SPDX-License-Identifier: MIT */
#include "collect/stacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"

static bool same_node(const struct profile_node *a, const struct profile_node *b)
{
        return a->pc == b->pc && a->parent == b->parent && a->module == b->module &&
               a->exact == b->exact;
}

static uint32_t intern(struct stacks *s, const struct profile_node *n)
{
        uint32_t hash = table_hash(n->pc, (uint64_t)n->parent << 17 | (uint64_t)n->exact << 16 |
                                                  n->module);
        uint32_t number = TABLE_NUMBER(&s->table, hash, i, same_node(&s->node[i], n));

        if (number == s->node_count) {
                s->node = heap_next(s->node, s->node_count, sizeof *s->node);
                s->node[s->node_count++] = *n;
        }
        return number;
}

static struct profile_node convert(const struct stacks *s, uint64_t pc_module, uint32_t parent)
{
        uint32_t module = LEDGER_NODE_MODULE(pc_module);
        bool known = module < s->p->module_count;

        return (struct profile_node){
                .pc = LEDGER_NODE_PC(pc_module + (known ? s->p->modules[module].bias : 0)),
                .parent = parent,
                .module = (uint16_t)(known ? module : PROFILE_NO_MODULE),
                .exact = (pc_module & LEDGER_NODE_EXACT) != 0,
        };
}

/* The raw parent; one that is not older than its child (hostile, or not written yet) ends the
 * stack. */
static uint32_t raw_parent(const struct stacks *s, uint32_t raw)
{
        return s->raw[raw].parent < raw ? s->raw[raw].parent : LEDGER_NODE_CUT;
}

/* A frame of a hook, between the program and the C library. */
static bool is_own(const struct stacks *s, uint32_t raw)
{
        return s->own && LEDGER_NODE_MODULE(s->raw[raw].pc_module) + 1 == s->own;
}

static bool any_own(const struct stacks *s)
{
        for (uint32_t i = 2; i < s->raw_count; i++)
                if (is_own(s, i))
                        return true;
        return false;
}

/* In place, because fresh memory costs more than the work. */
static void take_all(struct stacks *s)
{
        _Static_assert(sizeof *s->raw == sizeof *s->node, "one takes the place of the other");
        s->node = (struct profile_node *)(void *)heap_grow(s->raw, (size_t)s->raw_count + 2,
                                                           sizeof *s->raw);
        s->raw = NULL;
        for (uint32_t i = 2; i < s->raw_count; i++) {
                struct ledger_node raw;
                struct profile_node node;

                memcpy(&raw, &s->node[i], sizeof raw);
                node = convert(s, raw.pc_module, raw.parent < i ? raw.parent : LEDGER_NODE_CUT);
                memcpy(&s->node[i], &node, sizeof node);
        }
        s->node_count = s->raw_count;
}

void stacks_open(struct stacks *s, const struct view *v, const struct profile *p, uint32_t depth)
{
        *s = (struct stacks){ .p = p, .own = v->head.own_module, .depth = depth };
        s->raw_count = v->head.node_count;
        s->raw = view_table(v, LEDGER_NODES, &s->raw_count, sizeof *s->raw);
        s->alone = !v->head.several && !depth && !any_own(s);
        if (s->alone) {
                take_all(s);
        } else {
                s->node = heap_next(NULL, 0, sizeof *s->node);
                s->known = heap_zero(s->raw_count, sizeof *s->known);
                s->path = heap_zero(s->raw_count, sizeof *s->path);
                s->table.count = 2;
        }
        for (int i = 0; i < 2; i++)
                s->node[i] = (struct profile_node){ .module = PROFILE_NO_MODULE };
        if (s->node_count < 2)
                s->node_count = 2;
}

static uint32_t add_frame(struct stacks *s, uint32_t parent, uint32_t raw)
{
        struct profile_node n = convert(s, s->raw[raw].pc_module, parent);

        return intern(s, &n);
}

/* Frames from RAW outwards, until the root, DEPTH, or (without a depth) a stack that is known.
 * *BASE is where the outermost of them hangs. */
static uint32_t walk(struct stacks *s, uint32_t raw, uint32_t *base)
{
        uint32_t length = 0;

        *base = LEDGER_NODE_ROOT;
        while (raw > LEDGER_NODE_CUT) {
                if (s->depth && length == s->depth)
                        return length;
                if (!s->depth && s->known[raw]) {
                        *base = s->known[raw] - 1;
                        return length;
                }
                if (!is_own(s, raw))
                        s->path[length++] = raw;
                raw = raw_parent(s, raw);
        }
        *base = raw;
        return length;
}

uint32_t stacks_node(struct stacks *s, uint32_t raw)
{
        uint32_t node, length;

        if (raw <= LEDGER_NODE_CUT)
                return raw;
        if (raw >= s->raw_count)
                return LEDGER_NODE_CUT;
        if (s->alone)
                return raw;
        if (s->known[raw])
                return s->known[raw] - 1;
        length = walk(s, raw, &node);
        while (length > 0) {
                node = add_frame(s, node, s->path[--length]);
                if (!s->depth || length == 0)
                        s->known[s->path[length]] = node + 1;
        }
        return node;
}

uint32_t *stacks_map(struct stacks *s, bool all, uint32_t *count)
{
        uint32_t *map = heap_zero(s->raw_count, sizeof *map);

        *count = s->raw_count;
        for (uint32_t raw = 0; raw < s->raw_count; raw++)
                if (all || s->alone || raw <= LEDGER_NODE_CUT || s->known[raw])
                        map[raw] = stacks_node(s, raw);
        return map;
}

void stacks_close(struct stacks *s, struct profile *p)
{
        p->nodes = s->node;
        p->node_count = s->node_count;
        free(s->raw);
        free(s->known);
        free(s->path);
        table_free(&s->table);
        *s = (struct stacks){ 0 };
}
