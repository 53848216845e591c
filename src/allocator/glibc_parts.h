/* SPDX-License-Identifier: MIT */
/* glibc_parts.h -- what the files of glibc.h share: arenas, and reads without trust. */
#ifndef SEEP_ALLOCATOR_GLIBC_PARTS_H
#define SEEP_ALLOCATOR_GLIBC_PARTS_H

#include "allocator/glibc.h"

#define GLIBC_PAGE 4096u
#define GLIBC_BINS 127u   /* pairs of words */
#define GLIBC_BIN_MAP 16u /* bytes behind them */
#define GLIBC_IN_USE 1u   /* in the size of a chunk: the one before it is */
#define GLIBC_MAPPED 2u
#define GLIBC_NOT_MAIN 4u
#define GLIBC_SIZE(word) ((word) & ~UINT64_C(7))
#define GLIBC_WINDOW (256u << 10)
#define GLIBC_HEADER 64u  /* bytes around the head of a chunk */
#define GLIBC_FAR 16384u  /* bytes from one chunk to the next, where heads alone are read */

/* struct malloc_state; its address differs, so places are told from those of the bins. */
struct glibc_arena {
        uint64_t at, bins;
        uint64_t top;
        uint64_t heap_most; /* bytes between two heaps; 0: the main arena */
        bool fast;          /* has fast bins */
        bool split;         /* not all in one piece */
};

/* Memory that is full of chunks. */
struct glibc_piece {
        uint64_t start, end; /* END: where memory ends */
        uint64_t top;        /* the last chunk, if it is in here; else 0: posts end it */
        uint32_t flag;       /* that its chunks may have: GLIBC_NOT_MAIN, 0 */
};

struct glibc_walk {
        const struct walk_input *in;
        struct walk_blocks *out;
        uint32_t width;     /* bytes of a word */
        uint32_t head;      /* bytes from a chunk to its block: two words */
        uint32_t minimum;   /* bytes of a chunk: four words */
        uint32_t alignment; /* of blocks; sizes of chunks are multiples of it */
        uint32_t lead;      /* bytes from where a mapping begins to the first chunk in it */
        struct glibc_arena *arenas;
        uint32_t arena_count;
        struct glibc_piece *pieces;
        uint32_t piece_count;
        uint64_t brk_start, mapped_bytes; /* as mp_ has them; 0: not found */
        uint64_t *free_chunks; /* in fast bins and caches; sorted when all are found */
        uint64_t free_count, free_room;
        uint64_t *caches; /* chunks of struct tcache_perthread_struct, sorted */
        uint32_t cache_count;
        uint8_t *window;
        uint64_t window_at;
        uint64_t window_bytes;
        bool window_next; /* what follows will be asked for, too */
        uint64_t stride;  /* bytes from one chunk to the next, lately */
};

/* The word at AT; false: there is none. */
bool glibc_word(struct glibc_walk *w, uint64_t at, uint64_t *out);

/* Where the first chunk may lie that begins at AT or behind it, ... */
static inline uint64_t glibc_chunk_from(const struct glibc_walk *w, uint64_t at)
{
        return ((at + w->head + w->alignment - 1) & ~(w->alignment - 1ull)) - w->head;
}

/* ... and whether one may begin there. */
static inline bool glibc_may_be_chunk(const struct glibc_walk *w, uint64_t at)
{
        return (at + w->head) % w->alignment == 0;
}

/* Bytes of the chunk for a block of BYTES. */
static inline uint64_t glibc_chunk_bytes(const struct glibc_walk *w, uint64_t bytes)
{
        return (bytes + w->width + w->alignment - 1) & ~(w->alignment - 1ull);
}

/* A bin of the smallest blocks that a thread or an arena keeps for itself is for chunks of one
 * size; these are how far the sizes lie apart, and how many bins an arena has. */
static inline uint32_t glibc_fast_step(const struct glibc_walk *w)
{
        return 2 * w->width;
}
static inline uint32_t glibc_fast_bins(const struct glibc_walk *w)
{
        return (uint32_t)glibc_chunk_bytes(w, 20ull * w->width) / glibc_fast_step(w) - 1;
}

/* Whether ADDRESS is in memory of the allocator's, for walks to stay in. */
bool glibc_owns(const struct glibc_walk *w, uint64_t address);

/* Fill ARENAS, and what mp_ has. */
void glibc_find_arenas(struct glibc_walk *w);

/* Fill FREE_CHUNKS and CACHES. */
void glibc_find_free(struct glibc_walk *w);

/* The same for a chunk that is a cache of a thread, by its contents alone. */
void glibc_see_cache(struct glibc_walk *w, uint64_t chunk, uint64_t size);

#define GLIBC_HEAPS_MOST 65536u /* of one arena */

/* Where the heap before the one at HEAP is; 0: HEAP is none, or the first. */
uint64_t glibc_heap_at(struct glibc_walk *w, uint64_t heap, const struct glibc_arena *a,
                       struct glibc_heap_info *out);

#endif
