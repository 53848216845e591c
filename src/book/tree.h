/* SPDX-License-Identifier: MIT */
/*
 * tree.h -- a number for every distinct call stack.
 *
 * Room:   both sides; any context.
 * Keeps:  a number, once given, never changes its meaning.  Two threads that meet the same new
 *         stack at once may give it two numbers; readers merge.
 */
#ifndef SEEP_BOOK_TREE_H
#define SEEP_BOOK_TREE_H

#include "book/book.h"

bool tree_start(struct book *k);
void tree_forked(struct book *k);

/* After tree_start(), for a ledger that was copied: its nodes are found again.  tree_end: give the
 * tables back. */
bool tree_adopt(struct book *k);
void tree_end(struct book *k);

/* The node of PC_MODULE below PARENT, from the table of all threads; made if new.  0 stops the
 * recording. */
uint32_t tree_find(struct book *k, uint32_t parent, uint64_t pc_module);

/* The site of (NODE, KIND); made if new.  0 stops the recording. */
uint32_t tree_site_find(struct book *k, uint32_t node, uint32_t kind);

/* Stack hash and kind to site: what an event looks up.  0: not there yet. */
struct tree_stack {
        uint64_t key;
        uint64_t site;
};

struct tree_stacks {
        uint32_t bits, used;
        struct tree_stack at[];
};

void tree_stack_add(struct book *k, uint64_t key, uint32_t site);

/* The kinds of one stack lie side by side, so that the place can be fetched before the kind is
 * known. */
static inline uint64_t tree_key(uint64_t hash, uint32_t kind)
{
        return hash + kind;
}

static inline uint32_t tree_place_of(uint64_t key, uint32_t mask)
{
        return (uint32_t)(key >> 8) & mask;
}

static inline void tree_stack_fetch(const struct book *k, uint64_t hash)
{
        const struct tree_stacks *s = __atomic_load_n(&k->stacks, __ATOMIC_ACQUIRE);

        __builtin_prefetch(&s->at[tree_place_of(hash, (1u << s->bits) - 1)]);
}

static inline uint32_t tree_stack_find(const struct book *k, uint64_t key)
{
        const struct tree_stacks *s = __atomic_load_n(&k->stacks, __ATOMIC_ACQUIRE);
        uint32_t mask = (1u << s->bits) - 1, i = tree_place_of(key, mask);

        for (uint64_t at; (at = __atomic_load_n(&s->at[i].key, __ATOMIC_ACQUIRE)) != 0;
             i = (i + 1) & mask)
                if (at == key)
                        return (uint32_t)__atomic_load_n(&s->at[i].site, __ATOMIC_ACQUIRE);
        return 0;
}

static inline uint32_t tree_hash(uint32_t parent, uint64_t pc_module)
{
        return (uint32_t)(((pc_module ^ (uint64_t)parent << 20) * 0x9e3779b97f4a7c15ull) >> 32);
}

static inline uint32_t tree_site(struct book *k, uint32_t node, uint32_t kind)
{
        uint32_t site = __atomic_load_n(&k->nodes[node].site, __ATOMIC_RELAXED);

        return likely(site >> 24 == kind) ? site & 0xffffffu : tree_site_find(k, node, kind);
}

#endif
