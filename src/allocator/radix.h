/* SPDX-License-Identifier: MIT */
/*
 * radix.h -- two-level maps from pages to an allocator's data about them, found by their contents.
 *
 * The root is an array in the data of the module that has malloc: pointers to leaves, most of them
 * 0.  A leaf has a word for each page of a part of address space.  A pointer in that data is the
 * address of a leaf where the leaf has a word that is known from elsewhere, or its first word leads
 * to a description of the page for which it is entered; that page also tells which leaf it is, and
 * so where the root begins.
 */
#ifndef SEEP_ALLOCATOR_RADIX_H
#define SEEP_ALLOCATOR_RADIX_H

#include "allocator/walk.h"

struct radix {
        uint64_t root_words, leaf_words;
        void (*take)(void *context, uint64_t page, uint64_t word);
        void *context;
        uint64_t page, word; /* this page has this word; 0: no page is known ... */
        /* ... but this finds out which page a word of some leaf is about. */
        bool (*learn)(void *context, uint64_t word, uint64_t *page);
};

/* Calls TAKE for each page that has a word, in their order.  Where the root is; 0: not in DATA. */
uint64_t radix_walk(const struct radix *r, const struct walk_input *in,
                    const struct search_range *data);

#endif
