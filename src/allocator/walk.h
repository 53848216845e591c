/* SPDX-License-Identifier: MIT */
/*
 * walk.h -- what all walks through allocators share: reading memory, and the list of blocks found.
 *
 * Room:   outside.  Nothing is written, and no symbol is needed.
 * Keeps:  no byte is trusted: every number and pointer is checked, every walk ends.
 * Cost:   a system call for each page, not for each pointer, as long as 4 MiB of them are enough.
 */
#ifndef SEEP_ALLOCATOR_WALK_H
#define SEEP_ALLOCATOR_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/mappings.h"
#include "leak/search.h"

#define WALK_PAGE 4096u
#define WALK_PAGES 1024u

/* Pages that were read: lists of free blocks lead to and fro. */
struct walk_cache {
        uint64_t number[WALK_PAGES]; /* of the page, and 1 */
        uint8_t bytes[WALK_PAGES][WALK_PAGE];
};

struct walk_input {
        struct search_memory memory;
        struct walk_cache *cache; /* all 0 at first; NULL: none */
        const struct mappings *maps;
        const struct search_range *data; /* writable data of modules that may have malloc */
        uint32_t data_count;
        const struct search_range *tls; /* thread-local storage of such modules, of all threads */
        uint32_t tls_count;
        uint32_t alignment; /* of malloc's blocks: two words, or what long double asks for */
        bool tls_unknown;   /* of some thread: TLS has less than there is */
};

/* How many bytes a word of the program has. */
static inline uint32_t walk_width(const struct walk_input *in)
{
        return search_width(in->memory.narrow);
}

/* The number of 2, 4 or 8 BYTES at FROM, which are the program's. */
uint64_t walk_number(const struct walk_input *in, const void *from, uint32_t bytes);

/* All 0: nothing was found. */
struct walk_blocks {
        struct search_range *at; /* from where malloc gave it to its usable end */
        uint64_t count;
        struct search_range *own; /* memory that is the allocator's, with its blocks */
        uint32_t own_count;
        struct search_range *inner; /* memory in which blocks may begin further inside than told */
        uint32_t inner_count;
        uint64_t malloc_at; /* an address in the module that has malloc; 0: it has no such malloc,
                             * or never called it */
        bool libc_takes;    /* the C library gets blocks by calls of its own that nobody else can
                             * make, as musl does */
        char trouble[256];  /* ""; or what of the heap could not be walked */
};

void walk_add_block(struct walk_blocks *b, uint64_t start, uint64_t end);
void walk_add_own(struct walk_blocks *b, uint64_t start, uint64_t end);

void walk_add_inner(struct walk_blocks *b, uint64_t start, uint64_t end);

/* Whether the block at START may begin further inside; after walk_sort(). */
bool walk_is_inner(const struct walk_blocks *b, uint64_t start);

/* Note the first trouble only: what follows may come from it. */
void walk_trouble(struct walk_blocks *b, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

/* The same, where what is at AT should be a WHAT, like "page of mimalloc 2.0", and is none. */
void walk_ends(struct walk_blocks *b, uint64_t at, const char *what);

/* Put all lists in the order of addresses. */
void walk_sort(struct walk_blocks *b);

void walk_blocks_free(struct walk_blocks *b);

/* Whether all BYTES at ADDRESS are there: then TO has them. */
bool walk_read(const struct walk_input *in, uint64_t address, void *to, size_t bytes);

/* The same for COUNT of its words, as numbers of ours; at most 8. */
bool walk_read_words(const struct walk_input *in, uint64_t address, uint64_t *to, uint32_t count);

/* The words of DATA, as numbers of ours, as many as there are, to be freed; NULL: it has more than
 * MOST bytes. */
uint64_t *walk_words(const struct walk_input *in, const struct search_range *data, uint64_t most,
                     size_t *count);

#endif
