/* SPDX-License-Identifier: MIT */
/*
 * search.h -- which blocks does a program still hold? All memory is searched for pointers, once;
 * the rest is a graph.
 *
 * Room:   outside.  Knows no process: memory is read through a callback.
 * Keeps:  one pass over roots and blocks in the order of addresses gives all pointers (leak/run.c);
 *         classes come from marking in that graph, as Memcheck does it (leak/classes.c).
 * Cost:   1 GB/s or more for each processor with 10 million blocks; 8 bytes a pointer, 34 bytes
 *         a block with what is told about it, 8 more while marking.
 */
#ifndef SEEP_LEAK_SEARCH_H
#define SEEP_LEAK_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/progress.h"
#include "profile/model.h"

struct search_range {
        uint64_t start, end;
};

/* Memory of the searched program.  */
struct search_memory {
        void *context;
        /* Returns how many bytes from the start could be read. */
        size_t (*read)(void *context, uint64_t address, void *to, size_t bytes);
        /* The first address >= ADDRESS and < END in a page that was ever used; END when there
         * is none.  NULL: all are. */
        uint64_t (*next)(void *context, uint64_t address, uint64_t end);
        bool turned; /* its words have the other byte order than ours ... */
        bool narrow; /* ... and 4 bytes, not 8 */
        /* Of memory that is read from far: pointers() is read(), but words that lead into none of
         * the RANGES (sorted, disjoint) may be zero.  expect() is called first; false: read() is
         * all that there is.  NULL: the same. */
        bool (*expect)(void *context, const struct search_range *ranges, uint32_t count);
        size_t (*pointers)(void *context, uint64_t address, void *to, size_t bytes);
};

static inline uint32_t search_width(bool narrow)
{
        return narrow ? 4 : 8;
}

/* The word at FROM, as it was read. */
static inline uint64_t search_word(const void *from, bool narrow, bool turned)
{
        uint32_t half;
        uint64_t word;

        if (narrow) {
                memcpy(&half, from, sizeof half);
                return turned ? __builtin_bswap32(half) : half;
        }
        memcpy(&word, from, sizeof word);
        return turned ? __builtin_bswap64(word) : word;
}

#define SEARCH_BLOCK_IGNORED 1u  /* counts as reachable, with all it points to (SEEP_IGNORE) */
#define SEARCH_BLOCK_PASSAGE 2u  /* memory that may have been a block, or several: pointers anywhere
                                  * into it go through it, nothing is said about it */
#define SEARCH_BLOCK_NO_ELEMENTS 4u /* what new T[0] gave: just the count.  T's address is its end,
                                     * where no other block begins */

#define SEARCH_BLOCK_INNER 8u /* it may begin further inside than told: pointers anywhere into it
                               * count as pointers to its start */

#define SEARCH_BLOCK_OTHERS (1u << 8)

/* Sorted by address; of equal addresses the larger first.  Either nested (an arena, then what was
 * carved from it) or disjoint. */
struct search_block {
        uint64_t address;
        uint64_t size : 48;
        uint64_t flags : 16; /* SEARCH_BLOCK_*; bits from SEARCH_BLOCK_OTHERS on are for whoever
                              * made it */
};

/* Pointers anywhere into a block count as pointers to its start (libc's own: thread
 * descriptors). */
#define SEARCH_ROOT_WHOLE 1u
#define SEARCH_ROOT_HOST 2u /* memory of the emulator that runs the program: never turned */

/* A range of memory, or (WORDS not NULL) words that are in no memory: registers.  start is then 8
 * times the number of the first; of a program with words of 4 bytes each has two.  Roots may
 * overlap blocks (a mapping with the program's own pool in it): words inside blocks are the
 * blocks', not the root's. */
struct search_root {
        uint64_t start, end;
        const uint64_t *words;
        uint32_t flags; /* SEARCH_ROOT_* */
        uint32_t reserved;
};

struct search_input {
        struct search_memory memory;
        const struct search_block *blocks;
        uint64_t block_count; /* below 2^30 */
        const uint32_t *places; /* by block: where it was allocated, below PLACE_COUNT;
                                 * 0 unknown.  NULL: all are */
        const uint32_t *wider;  /* by place: one that has all of its blocks and others that were
                                 * allocated alike; 0 none.  No circles */
        uint32_t place_count;
        const struct search_root *roots;
        uint32_t root_count;
        const struct search_range *code; /* modules that are mapped: where vtables and their
                                          * functions are.  Sorted, disjoint */
        uint32_t code_count;
        bool unaligned; /* pointers at every byte, not only at multiples of a word */
        bool no_idioms; /* interior pointers of known idioms are nothing special (Memcheck's
                         * --leak-check-heuristics=none) */
        bool instances; /* GLib's objects are among the blocks (leak/instances.h) */
        struct progress *progress; /* NULL: nobody wants to know.  Told by the caller's thread */
        uint32_t threads; /* that read and mark, if there is enough to do; 0 counts as 1.  With
                           * more than one, memory is read by several at once */
};

/* A pointer.  Of blocks: those of block i are links[first[i]] to links[first[i + 1]]; AT is the
 * offset in the block.  Links of a block to itself are not kept.  A block that was carved from
 * another one holds it: the last of its links, at SEARCH_AT_ARENA. */
#define SEARCH_AT_ARENA (UINT32_MAX - 1)
#define SEARCH_TO(to) ((to) & 0x3fffffffu)
#define SEARCH_LINK_TO(link) SEARCH_TO((link).to)
#define SEARCH_LINK_INTERIOR (1u << 31) /* ... and no known idiom */
#define SEARCH_LINK_IDIOM (1u << 30)
struct search_link {
        uint32_t to; /* index of the block, with SEARCH_LINK_* */
        uint32_t at; /* offset in units of search_graph.unit; UINT32_MAX: further than that */
};

struct search_hold {
        uint64_t at; /* address; of a register 8 times its number, and where in it */
        uint32_t root;
        uint32_t to; /* as in a link */
};

#define SEARCH_NEAR 128u /* bytes from the start: larger headers are not known, talloc's has 96 */

struct search_graph {
        uint64_t block_count, link_count, hold_count;
        uint64_t *first; /* block_count + 1 */
        struct search_link *links;
        struct search_hold *holds;
        /* During the search, of each interior link and hold: where in its block it points
         * to; 0: not near its start. */
        uint8_t *link_offsets, *hold_offsets;
        uint64_t *vtables; /* by block: its first word if that points into CODE, else 0 */
        uint8_t *leak;     /* by block: enum profile_leak */
        uint8_t *idiom;    /* by block: 1 when it is reachable only thanks to an idiom */
        uint32_t *head;    /* by block: 1 + the definitely lost block that an
                            * indirect one hangs on; else 0 */
        uint32_t block_flags; /* SEARCH_BLOCK_* that any block has */
        uint32_t link_flags;  /* SEARCH_LINK_* that any link or hold has */
        bool nested;       /* some blocks lie in others */
        uint32_t unit;     /* bytes of a word; or 1 when unaligned, or when a block is */
        uint64_t root_bytes, heap_bytes; /* looked at */
};

#endif
