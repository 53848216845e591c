/* SPDX-License-Identifier: MIT */
/*
 * tree.c -- every distinct call stack gets a number.
 *
 * Keeps:  the hash tables are private: stack hash to site, which every event asks, and (parent,
 *         address) to node, which only new stacks ask.  The nodes are in the ledger.  Tables grow
 *         like the one of rule.c: one grower at a time; an old one is emptied and left to late
 *         readers.  An insertion that races with growing is lost from the table, not from the
 *         ledger; the worst is a second number for the same stack.
 * Cost:   a known stack is one probe: one cache miss when cold.
 */
#include "book/tree.h"

#define TREE_FIRST_BITS 12u
#define TREE_LAST_BITS 27u

struct tree {
        uint32_t bits, used;
        uint32_t at[];
};

static struct tree *tree_new(uint32_t bits)
{
        struct tree *t = book_memory(sizeof *t + ((uint64_t)sizeof(uint32_t) << bits));

        if (t)
                t->bits = bits;
        return t;
}

static struct tree_stacks *stacks_new(uint32_t bits)
{
        struct tree_stacks *s = book_memory(sizeof *s + (sizeof(struct tree_stack) << bits));

        if (s)
                s->bits = bits;
        return s;
}

bool tree_start(struct book *k)
{
        k->tree = tree_new(TREE_FIRST_BITS);
        k->stacks = stacks_new(TREE_FIRST_BITS);
        return k->tree && k->stacks &&
               book_commit(k, LEDGER_NODES, 2 * sizeof(struct ledger_node)) &&
               book_commit(k, LEDGER_SITES, sizeof(struct ledger_site));
}

void tree_forked(struct book *k)
{
        k->tree_lock = 0;
        k->stacks_lock = 0;
}

/* The slot of (PARENT, PC_MODULE) in T, or the empty one where it belongs. */
static uint32_t *tree_place(const struct book *k, struct tree *t, uint32_t parent,
                            uint64_t pc_module)
{
        uint32_t mask = (1u << t->bits) - 1, i = tree_hash(parent, pc_module) & mask;

        for (;; i = (i + 1) & mask) {
                uint32_t node = __atomic_load_n(&t->at[i], __ATOMIC_ACQUIRE);

                if (!node ||
                    (k->nodes[node].pc_module == pc_module && k->nodes[node].parent == parent))
                        return &t->at[i];
        }
}

static void tree_double(struct book *k, struct tree *old)
{
        struct tree *bigger;

        if (old->bits >= TREE_LAST_BITS || __atomic_exchange_n(&k->tree_lock, 1, __ATOMIC_ACQUIRE))
                return;
        bigger = k->tree == old ? tree_new(old->bits + 1) : NULL;
        if (bigger) {
                for (uint32_t i = 0; i < 1u << old->bits; i++) {
                        uint32_t node = old->at[i];

                        if (node)
                                *tree_place(k, bigger, k->nodes[node].parent,
                                            k->nodes[node].pc_module) = node;
                }
                bigger->used = old->used;
                __atomic_store_n(&k->tree, bigger, __ATOMIC_RELEASE);
                book_empty(old->at, (uint64_t)sizeof(uint32_t) << old->bits);
        }
        __atomic_store_n(&k->tree_lock, 0, __ATOMIC_RELEASE);
}

static uint32_t tree_node_new(struct book *k, uint32_t parent, uint64_t pc_module)
{
        uint32_t node = __atomic_fetch_add(&k->head->node_count, 1, __ATOMIC_RELAXED);

        if (!book_commit(k, LEDGER_NODES, (node + 1ull) * sizeof(struct ledger_node))) {
                __atomic_fetch_sub(&k->head->node_count, 1, __ATOMIC_RELAXED);
                book_full(k, LEDGER_STOP_NODES_FULL);
                return 0;
        }
        k->nodes[node].parent = parent;
        k->nodes[node].pc_module = pc_module;
        return node;
}

uint32_t tree_find(struct book *k, uint32_t parent, uint64_t pc_module)
{
        struct tree *t = __atomic_load_n(&k->tree, __ATOMIC_ACQUIRE);
        uint32_t *place = tree_place(k, t, parent, pc_module), node = *place, none = 0;

        if (node)
                return node;
        node = tree_node_new(k, parent, pc_module);
        if (!node)
                return 0;
        if (t->used < (1u << t->bits) - (1u << (t->bits - 3)) &&
            __atomic_compare_exchange_n(place, &none, node, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED) &&
            __atomic_add_fetch(&t->used, 1, __ATOMIC_RELAXED) > 1u << (t->bits - 1))
                tree_double(k, t);
        return node;
}

bool tree_adopt(struct book *k)
{
        for (uint32_t node = 2; node < k->head->node_count; node++) {
                const struct ledger_node *n = &k->nodes[node];
                uint32_t *place;

                if (k->tree->used >= 1u << (k->tree->bits - 1))
                        tree_double(k, k->tree);
                if (k->tree->used + 1 >= 1u << k->tree->bits)
                        return false;
                place = tree_place(k, k->tree, n->parent, n->pc_module);
                k->tree->used += *place == 0;
                *place = node;
        }
        return true;
}

void tree_end(struct book *k)
{
        book_memory_free(k->tree, sizeof *k->tree + ((uint64_t)sizeof(uint32_t) << k->tree->bits));
        book_memory_free(k->stacks,
                         sizeof *k->stacks + (sizeof(struct tree_stack) << k->stacks->bits));
        k->tree = NULL;
        k->stacks = NULL;
}

static uint32_t tree_site_new(struct book *k, uint32_t node, uint32_t kind)
{
        uint32_t site = __atomic_fetch_add(&k->head->site_count, 1, __ATOMIC_RELAXED);

        if (site >= LEDGER_SITES_MAX ||
            !book_commit(k, LEDGER_SITES, (site + 1ull) * sizeof(struct ledger_site))) {
                __atomic_fetch_sub(&k->head->site_count, 1, __ATOMIC_RELAXED);
                book_full(k, LEDGER_STOP_SITES_FULL);
                return 0;
        }
        k->sites[site].kind = kind;
        k->sites[site].node = node;
        return site;
}

uint32_t tree_site_find(struct book *k, uint32_t node, uint32_t kind)
{
        uint32_t first = __atomic_load_n(&k->nodes[node].site, __ATOMIC_ACQUIRE), site;

        for (site = first & 0xffffffu; site; site = k->sites[site].next)
                if (k->sites[site].kind == kind)
                        return site;
        site = tree_site_new(k, node, kind);
        if (!site)
                return 0;
        if (!first && __atomic_compare_exchange_n(&k->nodes[node].site, &first, kind << 24 | site,
                                                  false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
                return site;
        /* Another kind came from here before: hang the new one behind it. */
        k->sites[site].next = k->sites[first & 0xffffffu].next;
        __atomic_store_n(&k->sites[first & 0xffffffu].next, site, __ATOMIC_RELEASE);
        return site;
}

static struct tree_stack *stacks_place(struct tree_stacks *s, uint64_t key)
{
        uint32_t mask = (1u << s->bits) - 1, i = tree_place_of(key, mask);

        while (s->at[i].key && s->at[i].key != key)
                i = (i + 1) & mask;
        return &s->at[i];
}

static void stacks_double(struct book *k)
{
        struct tree_stacks *old = k->stacks,
                           *bigger = old->bits < TREE_LAST_BITS ? stacks_new(old->bits + 1) : NULL;

        if (!bigger)
                return;
        for (uint32_t i = 0; i < 1u << old->bits; i++)
                if (old->at[i].key)
                        *stacks_place(bigger, old->at[i].key) = old->at[i];
        bigger->used = old->used;
        __atomic_store_n(&k->stacks, bigger, __ATOMIC_RELEASE);
        book_empty(old->at, sizeof(struct tree_stack) << old->bits);
}

void tree_stack_add(struct book *k, uint64_t key, uint32_t site)
{
        struct tree_stack *e;

        if (!key || __atomic_exchange_n(&k->stacks_lock, 1, __ATOMIC_ACQUIRE))
                return; /* the next event with this stack will try again */
        if (k->stacks->used >= 1u << (k->stacks->bits - 1))
                stacks_double(k);
        if (k->stacks->used < (1u << k->stacks->bits) - (1u << (k->stacks->bits - 3))) {
                e = stacks_place(k->stacks, key);
                k->stacks->used += e->key == 0;
                __atomic_store_n(&e->site, site, __ATOMIC_RELEASE);
                __atomic_store_n(&e->key, key, __ATOMIC_RELEASE);
        }
        __atomic_store_n(&k->stacks_lock, 0, __ATOMIC_RELEASE);
}
